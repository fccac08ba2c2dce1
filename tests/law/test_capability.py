"""The handshake: whether an advertisement, a probe or a guard grounds an invariant; all sixty combinations of the document."""

from datetime import timedelta
from itertools import product

import pytest

from lifecycle.law.capability import Advertisement, Clause, Guard, Outcome, Probe, Requirement, entails, ground, probed
from tests.law import statement
from tests.law.script import NOON, TICK

DOCUMENT = """
| entailed | none, not run, inconclusive, passed | accept | accept | accept |
| entailed | failed | accept_with_guard | refuse: disproved | refuse: disproved |
| silent | passed | accept | accept | accept |
| silent | not run | probe_first | probe_first | probe_first |
| silent | none, inconclusive | accept_with_guard | refuse: ungrounded | accept_unverified |
| silent | failed | accept_with_guard | refuse: disproved | refuse: disproved |
| contradicted | any | accept_with_guard | refuse: disproved | refuse: disproved |
"""
"""Advert, probe; the answer if a grounded guard covers it; if none does and the action is irreversible; if it is reversible."""

ADVERTS = ("entailed", "silent", "contradicted")
PROBES = ("passed", "none", "inconclusive", "not run", "failed")
STRICTER = ("accept", "probe_first", "accept_with_guard", "accept_unverified", "refuse")
CLAUSES = {
    "entailed": (Clause("atomicity", "all_or_nothing"),),
    "silent": (Clause("ordering", "total"),),
    "contradicted": (Clause("atomicity", "per_record"),),
}


def documented() -> dict[tuple[str, str], list[str]]:
    """The document's answers, by advert and probe."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in DOCUMENT.strip().splitlines()]
    return {
        (advert, probe): answers
        for advert, probes, *answers in rows
        for probe in (PROBES if probes == "any" else probes.split(", "))
    }


def answered(advert: str, probe: str, guard: bool, irreversible: bool) -> tuple[Outcome, str, str]:
    """What the library answers to one combination: the outcome, why, and what would discharge it."""
    requirement = Requirement(
        *("atomic", "atomicity", "all_or_nothing"),
        irreversible=irreversible,
        probe=None if probe == "none" else Probe(probe.replace(" ", "_")),
        guard=Guard("batches", grounded=True) if guard else None,
    )
    told = ground(requirement, Advertisement("exec", clauses=CLAUSES[advert]), NOON)
    assert told.requirement == "atomic"
    assert told.grounded is (told.outcome not in ("refuse", "probe_first"))
    return told.outcome, told.why, told.fix


COMBINATIONS = list(product(ADVERTS, PROBES, (True, False), (True, False)))


def test_there_are_sixty_combinations() -> None:
    assert len(COMBINATIONS) == 60
    assert len(documented()) == 15


@pytest.mark.parametrize(("advert", "probe", "guard", "irreversible"), COMBINATIONS)
def test_every_combination_is_answered_as_the_document_says(advert: str, probe: str, guard: bool, irreversible: bool) -> None:
    covered, bare, reversible = documented()[advert, probe]
    said, _, why = (covered if guard else bare if irreversible else reversible).partition(": ")
    outcome, told, fix = answered(advert, probe, guard, irreversible)
    assert outcome == said
    assert why in told
    assert (fix in ("advertise", "probe", "amend_schema")) is (outcome in ("refuse", "probe_first"))


def test_the_statement_says_the_same() -> None:
    for (advert, probe), answers in documented().items():
        assert statement.HANDSHAKE[advert, probe.replace(" ", "_")] == tuple(answer.partition(":")[0] for answer in answers)


def strictness(advert: str, probe: str, guard: bool, irreversible: bool) -> int:
    return STRICTER.index(answered(advert, probe, guard, irreversible)[0])


@pytest.mark.parametrize(("advert", "probe"), [*product(ADVERTS, PROBES)])
def test_the_answers_are_monotone(advert: str, probe: str) -> None:
    for guard, irreversible in product((True, False), (True, False)):
        here = strictness(advert, probe, guard, irreversible)
        assert strictness(advert, probe, guard, True) >= strictness(advert, probe, guard, False)
        assert strictness(advert, probe, True, irreversible) <= strictness(advert, probe, False, irreversible)
        assert all(strictness(weaker, probe, guard, irreversible) >= here for weaker in ADVERTS[ADVERTS.index(advert) :])
        assert strictness(advert, "failed", guard, irreversible) >= strictness(advert, "passed", guard, irreversible)


@pytest.mark.parametrize(("advert", "probe", "irreversible"), [*product(ADVERTS, PROBES, (True, False))])
def test_a_guard_is_never_counted_on_that_is_not_there_or_not_grounded_itself(advert: str, probe: str, irreversible: bool) -> None:
    assert answered(advert, probe, False, irreversible)[0] != "accept_with_guard"
    requirement = Requirement("a", "atomicity", "all_or_nothing", {}, irreversible, None, Guard("acks", grounded=False))
    assert ground(requirement, Advertisement("exec", clauses=CLAUSES[advert]), NOON).outcome != "accept_with_guard"


# What entails what: by meaning, not by string

Bounds = dict[str, int]

ENTAILMENT: list[tuple[Bounds, Bounds, str]] = [
    ({"batch": 512}, {"batch": 100}, "entailed"),
    ({"batch": 512}, {"batch": 512}, "entailed"),
    ({"batch": 512}, {"batch": 513}, "silent"),
    ({}, {"batch": 512}, "entailed"),
    ({}, {}, "entailed"),
    ({"batch": 512}, {}, "silent"),
    ({"batch": 512, "bytes": 9}, {"batch": 100, "bytes": 9}, "entailed"),
    ({"batch": 512, "bytes": 9}, {"batch": 100, "bytes": 10}, "silent"),
    ({"batch": 512, "bytes": 9}, {"batch": 100}, "silent"),
]


@pytest.mark.parametrize(("advertised", "asked", "answer"), ENTAILMENT)
def test_a_larger_bound_entails_a_smaller(advertised: Bounds, asked: Bounds, answer: str) -> None:
    advertisement = Advertisement("exec", clauses=(Clause("atomicity", "all_or_nothing", advertised),))
    assert entails(advertisement, Requirement("a", "atomicity", "all_or_nothing", asked), NOON) == answer


@pytest.mark.parametrize("word", ["per_record", "best_effort", "undo"])
def test_a_contrary_clause_contradicts_whatever_the_name_promises(word: str) -> None:
    advertisement = Advertisement("write_transactional", clauses=(Clause("atomicity", word),))
    assert entails(advertisement, Requirement("a", "atomicity", "all_or_nothing"), NOON) == "contradicted"


def test_a_bare_name_says_nothing() -> None:
    requirement = Requirement("a", "atomicity", "all_or_nothing", {"batch": 512})
    bare = Advertisement("write_transactional", schema={"type": "object"})
    explicit = Advertisement("write_transactional", clauses=(Clause("atomicity", "all_or_nothing", {"batch": 512}),))
    assert ground(requirement, bare, NOON).outcome == "refuse"
    assert ground(requirement, None, NOON).outcome == "refuse"
    assert ground(requirement, explicit, NOON).outcome == "accept"


def test_one_clause_for_and_one_against_contradict() -> None:
    both = Advertisement("exec", clauses=(*CLAUSES["entailed"], *CLAUSES["contradicted"]))
    assert entails(both, Requirement("a", "atomicity", "all_or_nothing"), NOON) == "contradicted"


def test_an_advertisement_says_nothing_from_the_end_of_its_validity_on() -> None:
    requirement = Requirement("a", "atomicity", "all_or_nothing")
    advertisement = Advertisement("exec", clauses=CLAUSES["entailed"], valid_until=NOON)
    assert entails(advertisement, requirement, NOON - TICK) == "entailed"
    assert entails(advertisement, requirement, NOON) == "silent"


# What a pass is worth

EXEC = Advertisement("exec", "1")


@pytest.mark.parametrize(
    ("probe", "worth"),
    [
        (Probe("passed", EXEC.digest, {"batch": 512}, NOON + TICK), "passed"),
        (Probe("passed", EXEC.digest, {"batch": 1024}), "passed"),
        (Probe("passed", EXEC.digest), "passed"),
        (Probe("passed", EXEC.digest, {"batch": 3}), "not_run"),
        (Probe("passed", EXEC.digest, {"batch": 512, "bytes": 9}), "not_run"),
        (Probe("passed", Advertisement("exec", "2").digest, {"batch": 512}), "not_run"),
        (Probe("passed", EXEC.digest, {"batch": 512}, NOON), "not_run"),
        (Probe("failed", Advertisement("exec", "2").digest, {"batch": 3}, NOON - timedelta(days=9)), "failed"),
        (Probe("inconclusive", EXEC.digest, {"batch": 512}), "inconclusive"),
        (None, "none"),
    ],
)
def test_a_pass_holds_for_the_proven_sizes_and_that_advertisement_while_it_is_valid(probe: Probe | None, worth: str) -> None:
    assert probed(Requirement("a", "atomicity", "all_or_nothing", {"batch": 512}, probe=probe), EXEC, NOON) == worth


def test_the_digest_is_of_what_is_said_and_not_of_its_validity() -> None:
    first = Advertisement("exec", "1", {"type": "object"}, CLAUSES["entailed"], NOON)
    assert first.digest == Advertisement("exec", "1", {"type": "object"}, CLAUSES["entailed"]).digest
    others = [
        Advertisement("exes", "1", {"type": "object"}, CLAUSES["entailed"]),
        Advertisement("exec", "2", {"type": "object"}, CLAUSES["entailed"]),
        Advertisement("exec", "1", {"type": "array"}, CLAUSES["entailed"]),
        Advertisement("exec", "1", {"type": "object"}, CLAUSES["contradicted"]),
        Advertisement("exec", "1", {"type": "object"}, (Clause("atomicity", "all_or_nothing", {"batch": 1}),)),
    ]
    assert len({first.digest, *(other.digest for other in others)}) == 6
