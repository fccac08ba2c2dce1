"""How strictly is asked: the strictest of tool, policy and profiles; only an owner's word loosens, on every process."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.toolhost import Host, Policy, PolicyRefused, Profile, Registry
from lifecycle.toolhost.policy import STRICTNESS, loosened, strictest

from .stage import OPEN_WRITES, House, call, contract, does, told, tools, words, working

MODES = ("none", "policy", "consent")


def asks(house: House, **of: str) -> bool:
    """Whether a tool with this mode asks under this policy and profile; no question answers that it need not."""
    registry = Registry()
    registry.register(contract("gate", approval=of["tool"], preview="x"), does(house.effects, "gate"))
    id = "-".join(of.values())
    working(house.jobs, id)
    host = Host(house.jobs, registry, Policy(id=id, write=of["policy"]))  # type: ignore[arg-type]
    host.restrict(id, Profile(write=of["profile"]))  # type: ignore[arg-type]
    return bool(host.turn(id, [call("c1")]).pending)


def test_the_strictest_of_tool_policy_and_profile_counts(house: House) -> None:
    """All 27: only where all three say none does it not ask; `policy` asks where no question says that it need not."""
    asked = {modes: asks(house, tool=modes[0], policy=modes[1], profile=modes[2]) for modes in product(MODES, repeat=3)}
    assert [modes for modes, gated in asked.items() if not gated] == [("none", "none", "none")]


@pytest.mark.parametrize(
    ("own", "hosts", "gated"),
    [
        (False, None, False),
        (None, False, False),
        (False, False, False),
        (True, False, True),
        (False, True, True),
        (None, None, True),
        (0, None, True),
    ],
)
def test_where_the_mode_is_policy_questions_decide(house: House, own: object, hosts: object, gated: bool) -> None:
    """Every question there is must say no, with that very word; where there is none, it asks."""
    registry = Registry()
    parts = {} if own is None else {"asks": lambda arguments: own}
    registry.register(contract("gate", approval="policy", preview="x"), does(house.effects, "gate"), **parts)  # type: ignore[arg-type]
    working(house.jobs)
    host = house.host(registry, question=None if hosts is None else lambda contract, arguments: hosts)
    assert bool(host.turn("job", [call("c1")]).pending) is gated


def test_consent_asks_no_question(house: House) -> None:
    """Where the mode is consent, a question that says no is not heard."""
    registry = Registry()
    registry.register(contract("gate"), does(house.effects, "gate"), asks=lambda arguments: False)
    working(house.jobs)
    assert house.host(registry).turn("job", [call("c1")]).pending == ("c1",)


def test_only_an_owner_loosens_the_policy(house: House) -> None:
    """A looser policy from another process or party is refused, naming what is looser; a stricter one is anybody's to give."""
    strict = Policy(write="consent", owners=("ann",), tools={"gate": "consent"})
    house.host(policy=strict)
    for loose in (Policy(write="none", owners=("ann",)), Policy(write="consent", owners=("ann",)), Policy(write="consent")):
        with pytest.raises(PolicyRefused) as error:
            house.restart(policy=loose)
        assert error.value.looser
    host = house.restart(policy=strict)
    with pytest.raises(PolicyRefused):
        host.change_policy(OPEN_WRITES, by="wes")
    with pytest.raises(PolicyRefused):
        host.change_policy(Policy(write="consent", tools={"gate": "consent"}, owners=("wes",)), by="wes")
    host.change_policy(OPEN_WRITES, by="ann")
    host = house.restart(policy=OPEN_WRITES)
    assert host.policy == house.restart(policy=None).policy == OPEN_WRITES
    stricter = Policy(write="consent", owners=("ann",))
    assert house.restart(policy=stricter).policy == stricter


def test_a_policy_that_changed_is_not_what_was_approved_under(house: House) -> None:
    """Approved under one policy, another is in force when it would run: mismatch; for an ungated write that waited, too."""
    working(house.jobs)
    host = house.host()
    set_id = host.turn("job", [call("c1"), call("w", "write")]).set
    bundle = words(host)
    host.change_policy(Policy(write="consent", owners=("ann",)), by="wes")
    host = house.restart(policy=Policy(write="consent", owners=("ann",)))
    assert told(host.decide("job", set_id, bundle, by="app")) == {"c1": "rejected mismatch", "w": "rejected mismatch"}
    assert house.effects.all == []


def test_a_profile_that_was_tightened_holds_for_what_waits(house: House) -> None:
    """A write was proposed as needing no word; the profile then asks for one: it is not run."""
    working(house.jobs)
    host = house.host()
    set_id = host.turn("job", [call("c1"), call("w", "write")]).set
    host.restrict("job", Profile(tools={"write": "consent"}))
    host = house.again(host)
    assert told(host.decide("job", set_id, words(host), by="app")) == {"c1": "executed", "w": "rejected mismatch"}


def test_a_profile_is_never_loosened(house: House) -> None:
    """Not by anybody: a job's profile is only ever tightened."""
    working(house.jobs)
    host = house.host()
    host.restrict("job", Profile(write="policy"))
    with pytest.raises(PolicyRefused):
        house.again(host).restrict("job", Profile())
    house.again(host).restrict("job", Profile(write="consent"))


modes = st.sampled_from(STRICTNESS)
profiles = st.builds(
    Profile, read=modes, write=modes, destructive=modes, tools=st.dictionaries(st.sampled_from(["gate", "write"]), modes)
)


@given(profiles, profiles)
def test_looser_is_what_asks_less_for_some_tool(old: Profile, new: Profile) -> None:
    """Held against every tool and effect one by one; and the strictest of two is looser than neither."""
    pairs = [(effect, tool) for effect in ("read", "write", "destructive") for tool in ("gate", "write", "other")]
    less = any(MODES.index(new.mode(*one)) < MODES.index(old.mode(*one)) for one in pairs)  # type: ignore[arg-type]
    assert bool(loosened(old, new)) is less
    assert all(strictest((old.mode(*one), new.mode(*one))) in (old.mode(*one), new.mode(*one)) for one in pairs)  # type: ignore[arg-type]


def test_tools_of_the_policy_are_asked_for_by_name(house: House) -> None:
    """A policy that names a tool asks for that one, and not for its neighbours."""
    working(house.jobs)
    host = house.host(tools(house.effects), Policy(write="none", tools={"write": "consent"}))
    assert host.turn("job", [call("w", "write"), call("r", "look")]).pending == ("w",)
