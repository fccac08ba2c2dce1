"""A contract is its content: equal contracts have one digest, and the terms of a request are read off it."""

import json

import pytest
from pydantic import TypeAdapter

from lifecycle.law.contract import Contract
from lifecycle.law.states import Stage
from lifecycle.law.terms import Budget, Condition, Exclusion, Terms
from tests.law.script import BUILDS, CONTRACT, NO_NET, READS, Script

READ = TypeAdapter(Contract)


def test_equal_contracts_have_one_digest_however_they_are_laid_out() -> None:
    told = json.loads(READ.dump_json(CONTRACT))
    turned = json.dumps(dict(reversed(told.items())), indent=7)
    assert READ.validate_json(turned) == CONTRACT
    assert READ.validate_json(turned).digest == CONTRACT.digest
    assert READ.validate_python({**told, "acceptance": tuple(told["acceptance"])}).digest == CONTRACT.digest


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"version": "2"},
        {"goal": "build it well"},
        {"acceptance": []},
        {"invariants": []},
        {"preconditions": [{"id": "a", "text": "a"}]},
        {"non_goals": []},
        {"write_scope": ["src"]},
        {"constraints": ["be quiet"]},
        {"evidence": []},
        {"escalation": []},
        {"budget": {"tokens": 1}},
        {"owners": {}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_change_of_content_is_a_change_of_digest(change: dict[str, object]) -> None:
    assert READ.validate_python({**json.loads(READ.dump_json(CONTRACT)), **change}).digest != CONTRACT.digest


def test_a_contracts_terms_are_its_acceptance_its_non_goals_and_its_write_scope() -> None:
    contract = Contract(
        "task",
        "1",
        "build it",
        acceptance=(BUILDS,),
        non_goals=(NO_NET,),
        write_scope=("src/**", "docs/**"),
        constraints=("be quiet",),
        budget=Budget(tokens=9),
    )
    conditions, exclusions = contract.terms.conditions, contract.terms.exclusions
    assert (conditions, contract.terms.constraints, contract.terms.budget) == ((BUILDS,), ("be quiet",), Budget(tokens=9))
    assert exclusions[0] == NO_NET
    assert exclusions[1].kind == "path" and "src/**" in exclusions[1].text and "docs/**" in exclusions[1].text


def test_a_request_adds_to_its_contract_and_its_own_budget_counts() -> None:
    contract = Contract("c", "1", "build it", (READS,), non_goals=(NO_NET,), constraints=("be calm",), budget=Budget(tokens=9))
    assert Script(contract=contract).job.terms == Terms((READS,), (NO_NET,), (), ("be calm",), Budget(tokens=9))
    more = Exclusion("no-root", "no root")
    job = Script(contract=contract, exclusions=(more,), constraints=("be quiet",), budget=Budget(tokens=5)).job
    assert job.terms == Terms((READS,), (NO_NET, more), (), ("be calm", "be quiet"), Budget(tokens=5))


def test_a_contract_with_conditions_asks_for_a_verdict() -> None:
    assert Script(contract=CONTRACT).tells("accept deliver").stage is Stage.DELIVERED
    assert Script(contract=Contract("c", "1", "g"), verdict=False).tells("accept deliver").stage is Stage.UNVERIFIED


def test_everyone_a_contract_names_is_known_to_it() -> None:
    assert CONTRACT.parties == {"own", "wes"}


def test_the_longest_id_still_has_a_write_scope() -> None:
    contract = Contract("x" * 128, "1", "build it", acceptance=(Condition("a", "a"),), write_scope=("src",))
    assert len(contract.terms.exclusions) == 1
