"""Where the tool host's tests live: in memory and in a real file, under a clock that is set by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.stories import Clock

from .stage import Effects, House


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def effects(tmp_path: Path) -> Effects:
    return Effects(tmp_path / "effects")


@pytest.fixture(params=["memory", "sqlite"])
def house(request: pytest.FixtureRequest, clock: Clock, effects: Effects, tmp_path: Path) -> Iterator[House]:
    house = House("memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/jobs.db", clock, effects)
    yield house
    house.jobs.close()
