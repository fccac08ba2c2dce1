"""How long it tries, and how long it waits."""

import time

import pytest
from retry import retry


def test_gives_up_after_three_attempts_and_waits_between_them() -> None:
    calls: list[int] = []

    def fails() -> None:
        calls.append(1)
        raise OSError("down")

    begun = time.perf_counter()
    with pytest.raises(OSError):
        retry(fails)
    assert len(calls) == 3
    assert 0.03 <= time.perf_counter() - begun < 0.04


def test_stops_at_the_first_success() -> None:
    answers = iter([OSError("down"), "up"])

    def call() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    assert retry(call) == "up"
