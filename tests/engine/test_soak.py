"""A short soak on both stores in each run; `python -m tests.soak URL 600` is the long one."""

import pytest

from tests.soak import soak


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_log_list_and_an_independent_replay_agree_after_random_kills(
    where: str, request: pytest.FixtureRequest, tmp_path: object
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db" if where == "sqlite" else request.getfixturevalue("database")
    count = soak(url, 12.0)
    assert count["processes"] > 8 and count["jobs"] > 50 and count["receipts"] > 100
    assert len([what for what in count if what.startswith("->")]) > 12  # most stages were come to
