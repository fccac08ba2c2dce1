"""What users rely on, and no mend may change."""

import inspect

import pytest
import retry as product


def test_three_attempts_by_default() -> None:
    assert product.ATTEMPTS == 3
    assert inspect.signature(product.retry).parameters["attempts"].default == 3


def test_the_last_error_is_raised() -> None:
    errors = iter([OSError("one"), OSError("two"), OSError("three")])

    def fails() -> None:
        raise next(errors)

    with pytest.raises(OSError, match="three"):
        product.retry(fails, sleep=lambda seconds: None)


def test_each_wait_is_twice_the_one_before() -> None:
    waits: list[float] = []

    def fails() -> None:
        raise OSError("down")

    with pytest.raises(OSError):
        product.retry(fails, sleep=waits.append, jitter=lambda: 0.0)
    assert waits == [product.DELAY, 2 * product.DELAY]
