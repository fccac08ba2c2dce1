"""Where the engine's tests keep their jobs: in memory and in a real file, under a clock that is set by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import lifecycle
from lifecycle import Jobs
from lifecycle.law.log import Store

from .stories import Clock


class Place:
    """One store, and any number of engines on it."""

    def __init__(self, url: str, clock: Clock) -> None:
        self.url, self.clock = url, clock
        self._opened: list[Jobs] = []

    def open(self) -> Jobs:
        """One more engine, which knows nothing but what the store tells it."""
        if self.url == "memory:" and self._opened:
            self._opened.append(Jobs(self._opened[0].store, sweep_every=None))
        else:
            self._opened.append(lifecycle.open(self.url, clock=self.clock))
        return self._opened[-1]

    def over(self, store: Store) -> Jobs:
        """An engine on a store that relays to this one."""
        self._opened.append(Jobs(store, sweep_every=None))
        return self._opened[-1]

    def reopen(self) -> Jobs:
        """Everything is closed, and opened anew."""
        self.close()
        if self.url != "memory:":
            self._opened.clear()
        return self.open()

    def close(self) -> None:
        """Close every engine."""
        for jobs in self._opened:
            jobs.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Place]:
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path}/jobs.db"}
    place = Place(urls.get(request.param) or request.getfixturevalue("database"), clock)
    yield place
    place.close()


@pytest.fixture
def jobs(place: Place) -> Jobs:
    return place.open()


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Place]:
    """A place that other processes share, on either store that has one."""
    url = f"sqlite:///{tmp_path}/jobs.db" if request.param == "sqlite" else request.getfixturevalue("database")
    place = Place(url, clock)
    yield place
    place.close()


@pytest.fixture
def on_file(clock: Clock, tmp_path: Path) -> Iterator[Place]:
    """A file, for what is done to a file."""
    place = Place(f"sqlite:///{tmp_path}/jobs.db", clock)
    yield place
    place.close()
