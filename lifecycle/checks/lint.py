"""Lint: what in a contract two honest reviewers could judge differently, and what nobody owns.

A contract with findings can stand; each finding says what would make it decide by itself. Whether a text names a quantity, and the
setup it is measured in, is a guess from its words: a wrong guess costs a sentence, never a verdict.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from lifecycle.checks.contract_file import load
from lifecycle.checks.layout.shape import CHECKED, shaped
from lifecycle.checks.layout.source import Keys, Source
from lifecycle.checks.scope import inside, pattern_fault
from lifecycle.law.contract import Contract, Criterion
from lifecycle.law.terms import CommandCheck, Condition, MetricCheck, PersonCheck

_QUANTITY = re.compile(
    r"(?:<=?|>=?|=|≤|≥|\b(?:at (?:least|most)|(?:more|less|fewer) than|under|below|above|over|within|up to|exactly|all))\s*\d"
    r"|\d+(?:[.,]\d+)?\s*(?:%|[nuµm]?s\b|msec|sec|min|hours?|h\b|days?|[kKMGT]i?B\b|bytes|lines|rows|records|cases|tests|times|"
    r"requests|per\b|percent|errors?|warnings?|users?|files?|pages?|of\b)",
    re.IGNORECASE,
)
_SETUP = re.compile(r"\b(?:on|with|when|using|against|measured|given|running|in|during|from|for)\b\s+\w", re.IGNORECASE)
_NO_SETUP = re.compile(r"\W*(?:any|anywhere|default|n/?a|none|tbd|todo|todo:?.*|unknown|usual|normal|\?+|-+|x+)\W*", re.IGNORECASE)
_EVERYTHING = {"*", "**", "**/*", ".", "./", "./**", "*/**"}


@frozen
class Finding:
    """One thing to mend in a contract: which criterion (empty: the whole), by which rule, what, the mend, and the line if known."""

    criterion: str
    rule: str
    what: str
    mend: str
    line: int | None = None

    def __str__(self) -> str:
        at = f"line {self.line}: " if self.line else ""
        return f"{at}{f'`{self.criterion}` ' if self.criterion else ''}{self.what}; to mend it, {self.mend} ({self.rule})"


def lint(contract: Contract | str | Path) -> list[Finding]:
    """Every finding of a contract, or of a contract file: then with its line, in the order of lines. ContractError as `read`."""
    source = None
    if not isinstance(contract, Contract):
        source = load(contract)
        contract = shaped(source, verdict=False)
    found = [Finding(id, rule, what, mend, _line(source, keys)) for id, rule, what, mend, keys in _findings(contract)]
    return sorted(found, key=lambda finding: finding.line or 0)


_Found = tuple[str, str, str, str, Keys]


def _findings(contract: Contract) -> Iterator[_Found]:
    if not contract.acceptance:
        yield "", "nothing_accepted", "nothing is accepted", "add a condition with its check", ("acceptance",)
    for section in CHECKED:
        for place, item in enumerate(getattr(contract, section)):
            yield from _criterion(item, (section, place), contract)
    yield from _evidence(contract)
    yield from _owners(contract)
    yield from _scope(contract)


def _criterion(item: Condition | Criterion, keys: Keys, contract: Contract) -> Iterator[_Found]:
    check = item.check
    if check is None or isinstance(check, str):
        text = f"{item.text} {check or ''}"
        if not _QUANTITY.search(text):
            what = "has no check and no measurable quantity: two honest reviewers could judge it differently"
            yield item.id, "no_check", what, "give it a check, or a number and the setup it is measured in", keys
        elif not _SETUP.search(text):
            what = "has a quantity, and not the setup it is measured in"
            yield item.id, "no_setup", what, "say on what, with what load, measured how", keys
        return
    if isinstance(check, MetricCheck) and _NO_SETUP.fullmatch(check.setup):
        what = f"is measured in the setup `{check.setup}`, which names none"
        yield item.id, "no_setup", what, "say on what, with what load, measured how", (*keys, "check", "setup")
    if isinstance(check, CommandCheck) and contract.write_scope:
        tried = _held_against_a_change(contract)
        own = [case for case in check.cases if case not in tried and inside(case.partition("::")[0], contract.write_scope)]
        if own:
            what = f"is decided by `{own[0]}`, which the worker may write"
            yield item.id, "own_test", what, "keep it out of the write scope, or hold it against a changed product too", keys
    if not any(rule.id == item.id for rule in contract.evidence):
        what = "has a check that no evidence rule names"
        yield item.id, "no_evidence_rule", what, "say which evidence counts, and who may skip it", (*keys, "check")


def _held_against_a_change(contract: Contract) -> set[str]:
    """Cases that some check asks to fail: on a product that was changed, so that a weakened one is found out."""
    checks = [*(item.check for item in contract.acceptance), *(item.check for item in contract.invariants)]
    return {case for check in checks if isinstance(check, CommandCheck) and check.exit != 0 for case in check.cases}


def _evidence(contract: Contract) -> Iterator[_Found]:
    known = {item.id for section in CHECKED for item in getattr(contract, section)}
    for place, rule in enumerate(contract.evidence):
        if rule.id not in known:
            keys: Keys = ("evidence", place, "id")
            yield rule.id, "evidence_for_nothing", "is no criterion, and has an evidence rule", "name a criterion", keys


def _owners(contract: Contract) -> Iterator[_Found]:
    owners = contract.owners
    named = {owners.user, owners.repository, owners.executor, owners.verifier} - {None}
    mend = "name it among the owners"
    for place, choice in enumerate(contract.escalation):
        if choice.owner not in named:
            what = f"the choice `{choice.choice}` is owned by `{choice.owner}`, who is no owner here"
            yield "", "owner_missing", what, mend, ("escalation", place, "owner")
    for section in CHECKED:
        for place, item in enumerate(getattr(contract, section)):
            if isinstance(item.check, PersonCheck) and item.check.party not in named:
                what = f"asks `{item.check.party}`, who is no owner here"
                yield item.id, "owner_missing", what, mend, (section, place, "check", "party")


def _scope(contract: Contract) -> Iterator[_Found]:
    if not contract.write_scope:
        what = "everything may be written: there is no write scope"
        yield "", "no_scope", what, "name the paths that may change", ("write_scope",)
    for place, pattern in enumerate(contract.write_scope):
        keys: Keys = ("write_scope", place)
        if fault := pattern_fault(pattern):
            yield "", "bad_scope", f"the write scope `{pattern}` {fault[0]}", fault[1], keys
        elif pattern in _EVERYTHING:
            yield "", "no_scope", f"the write scope `{pattern}` is everything", "name the paths that may change", keys


def _line(source: Source | None, keys: Keys) -> int | None:
    return source.fault(keys, "", "").line if source is not None else None
