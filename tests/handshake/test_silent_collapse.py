"""The incident, with three real processes: records are lost without the handshake, and never with it."""

from pathlib import Path

import pytest

from examples.silent_collapse.incident import COUNT, REFUSED, STUCK, TOO_LARGE, incident, records

IDS = [one.id for one in records(COUNT)]


def test_without_the_handshake_records_400_to_511_are_lost(tmp_path: Path) -> None:
    assert incident("trusting", tmp_path) == (0, COUNT, IDS[:TOO_LARGE])


def test_with_it_the_executor_is_refused_before_the_first_write(tmp_path: Path) -> None:
    assert incident("refusing", tmp_path) == (REFUSED, 0, [])


def test_with_a_guard_the_checkpoint_stops_before_what_is_not_there(tmp_path: Path) -> None:
    assert incident("guarded", tmp_path) == (STUCK, TOO_LARGE, IDS[:TOO_LARGE])


def test_an_executor_that_advertises_and_keeps_it_is_accepted(tmp_path: Path) -> None:
    assert incident("advertised", tmp_path, atomic=True) == (0, COUNT, IDS)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_the_checkpoint_has_passed_is_missing_whoever_is_killed(tmp_path: Path, seed: int) -> None:
    ended, checkpoint, ids = incident("guarded", tmp_path, kills=5, seed=seed)
    assert (ended, checkpoint) == (STUCK, TOO_LARGE)
    assert set(IDS[:checkpoint]) <= set(ids)
