"""The engine on a SQLite file, through processes that are really killed: the checks pass, and a store that forgets is found out."""

import os
import signal
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lifecycle import acts
from lifecycle.conformance.fuzz import Killed, Scope, Stepped, Telling, fuzz
from lifecycle.conformance.fuzz.crashing import LOST
from lifecycle.conformance.fuzz.engines import Clock
from lifecycle.conformance.fuzz.processes import ChildLost, Opens, ProcessSubject
from lifecycle.conformance.fuzz.sayings import act_of
from lifecycle.conformance.fuzz.subject import NOON, WHOLE
from lifecycle.conformance.fuzz.trial import WHERE
from lifecycle.law.errors import StoreError
from lifecycle.law.log import Change, Entry, Head, Query, Row, Store
from lifecycle.stores.memory import MemoryStore
from lifecycle.stores.sqlite import SqliteStore

REQUEST = act_of("request", "", None, NOON, None)
WORK = Scope(acts=frozenset({"request", "accept", "decline", "progress", "deliver", "cancel", "halt"}), time=False)
"""Enough for the checks that kill a process at every step of every edge."""

ENDS = Scope(acts=frozenset({"request", "accept", "deliver", "cancel"}))
"""Enough for those who come first, and the clock, to matter."""


class Scoped(ProcessSubject):
    """Tried in a part of what it does, to take less time; the whole is tried by `lifecycle fuzz sqlite:`."""

    def __init__(self, opens: Opens = SqliteStore, scope: Scope = WORK) -> None:
        super().__init__(opens)
        self.scope = scope


class Hasty(SqliteStore):
    """Acknowledges a write, and makes it when it is next asked for anything."""

    owed: tuple[Sequence[Change], Sequence[tuple[str, Head]]] | None = None

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        self.pay()
        self.owed = changes, reads

    def read(self, job: str, after: int = -1) -> tuple[Head, Sequence[Entry]] | None:
        self.pay()
        return super().read(job, after)

    def find(self, query: Query) -> Sequence[Row]:
        self.pay()
        return super().find(query)

    def mark(self, job: str, head: Head, renewed_at: datetime | None, due: datetime | None) -> None:
        self.pay()
        super().mark(job, head, renewed_at, due)

    def pay(self) -> None:
        if self.owed is not None:
            owed, self.owed = self.owed, None
            super().append(*owed)


class Full(SqliteStore):
    """Has no room left."""

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        raise StoreError("the disk is full; to mend it, free some space")


class Odd(SqliteStore):
    """Fails with what no pipe can carry."""

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        class Local(Exception):
            pass

        raise Local("nobody outside knows me")


class Stuck(SqliteStore):
    """Never comes back from a write."""

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        while True:
            signal.pause()


def forgetful(path: Path, clock: Clock) -> Store:
    """A store that lives no longer than its process."""
    return MemoryStore(clock)


@pytest.fixture
def subject() -> Iterator[ProcessSubject]:
    made = ProcessSubject()
    yield made
    made.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


class Dying:
    """A turn that kills before a step of this kind."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __call__(self, step: str) -> None:
        if step == self.step:
            raise Killed


# ---- the checks


@pytest.mark.parametrize(("check", "scope"), [("edges", WHOLE), ("identity", WHOLE), ("crashes", WORK), ("races of two", ENDS)])
def test_a_check_finds_nothing(check: str, scope: Scope) -> None:
    subject = Scoped(scope=scope)
    outcome = fuzz(subject, only=[check])
    subject.close()
    assert outcome.found is None
    assert outcome.covered[0].done == outcome.covered[0].of >= 30


def test_it_tells_all_there_is_and_can_be_come_between(subject: ProcessSubject) -> None:
    assert isinstance(subject, Telling)
    assert isinstance(subject, Stepped)


@pytest.mark.parametrize(("opens", "check", "law"), [(forgetful, "identity", WHERE), (Hasty, "crashes", LOST)])
def test_a_store_that_loses_what_it_acknowledged_is_found_out(opens: Opens, check: str, law: str) -> None:
    subject = Scoped(opens)
    outcome = fuzz(subject, only=[check])
    subject.close()
    assert outcome.found is not None
    assert outcome.found.law == law


def test_a_store_that_writes_late_passes_where_nothing_is_killed() -> None:
    subject = Scoped(Hasty)
    outcome = fuzz(subject, only=["edges"])
    subject.close()
    assert outcome.found is None


# ---- kills


def test_a_restart_kills_the_process_and_keeps_what_it_acknowledged(subject: ProcessSubject) -> None:
    assert subject.submit("job", REQUEST, by="ann", id="a1") is None
    before = subject.facts("job")
    (client,) = subject.clients([lambda step: None])
    pids = subject.pids
    subject.restart()
    assert len(pids) == 2
    assert all(map(gone, pids))
    assert client.exitcode == -signal.SIGKILL
    assert len(subject.pids) == 1
    assert subject.facts("job") == before


@pytest.mark.parametrize(("step", "stage"), [("write", None), ("written", "requested")])
def test_a_killed_client_is_gone_by_signal_9_and_the_next_goes_on(subject: ProcessSubject, step: str, stage: str | None) -> None:
    (client,) = subject.clients([Dying(step)])
    killed = subject.pids[1]
    with pytest.raises(Killed):
        client.submit("job", REQUEST, by="ann", id="a1")
    assert client.exitcode == -signal.SIGKILL
    assert gone(killed)
    assert subject.stage("job") == stage
    (another,) = subject.clients([lambda step: None])
    assert another.submit("job", REQUEST, by="ann", id="a1") is None
    assert subject.stage("job") == "requested"


def test_a_dead_client_stays_dead(subject: ProcessSubject) -> None:
    (client,) = subject.clients([Dying("write")])
    with pytest.raises(Killed):
        client.submit("job", REQUEST, by="ann", id="a1")
    with pytest.raises(ChildLost, match="was killed"):
        client.submit("job", REQUEST, by="ann", id="a1")


def test_a_process_that_dies_unasked_is_told_of_and_replaced(subject: ProcessSubject) -> None:
    subject.submit("job", REQUEST, by="ann", id="a1")
    os.kill(subject.pids[0], signal.SIGTERM)
    with pytest.raises(ChildLost, match="died unasked and ended with -15"):
        subject.stage("job")
    assert subject.stage("job") == "requested"


def test_a_process_that_falls_silent_is_killed_and_replaced(subject: ProcessSubject) -> None:
    subject.close()  # it was only to start the server of processes, which takes a time of its own
    subject = ProcessSubject(Stuck, patience=2.0)
    stuck = subject.pids
    with pytest.raises(ChildLost, match="said nothing for 2 s"):
        subject.submit("job", REQUEST, by="ann", id="a1")
    assert all(map(gone, stuck))
    assert subject.stage("job") is None
    subject.close()


# ---- what goes through the pipe


def test_a_turn_comes_before_every_step_and_after_what_is_written(subject: ProcessSubject) -> None:
    steps: list[str] = []
    (client,) = subject.clients([steps.append])
    client.submit("job", REQUEST, by="ann", id="a1")
    client.submit("job", acts.Accept(answers="a1"), by="wes", id="a2")
    client.submit("job", acts.Accept(answers="a1"), by="wes", id="a2")
    assert steps == ["write", "written", "write", "written", "read"]  # a new job is not looked for, a retry is


def test_clients_of_the_next_life_are_the_same_processes_and_know_nothing(subject: ProcessSubject) -> None:
    steps: list[str] = []
    for _ in range(2):
        (client,) = subject.clients([steps.append])
        assert client.submit("job", REQUEST, by="ann", id="a1") is None
        pids = subject.pids
        subject.reset()
        assert subject.stage("job") is None
    assert subject.pids == pids
    assert steps == ["write", "written"] * 2


def test_one_clock_is_everybodys(subject: ProcessSubject) -> None:
    one, other = subject.clients([lambda step: None, lambda step: None])
    one.submit("job", REQUEST, by="ann", id="a1")
    other.advance(timedelta(days=365))
    assert subject.stage("job") == "cancelled.stopped"


def test_an_error_in_a_process_is_raised_here_with_where_it_came_from() -> None:
    subject = ProcessSubject(Full)
    with pytest.raises(StoreError, match="the disk is full") as caught:
        subject.submit("job", REQUEST, by="ann", id="a1")
    assert "in append" in "".join(caught.value.__notes__)
    assert subject.stage("job") is None
    subject.close()


def test_an_error_that_no_pipe_can_carry_is_told_in_words() -> None:
    subject = ProcessSubject(Odd)
    with pytest.raises(ChildLost, match="Local: nobody outside knows me"):
        subject.submit("job", REQUEST, by="ann", id="a1")
    subject.close()


def test_a_closed_subject_leaves_no_process_behind(subject: ProcessSubject) -> None:
    subject.clients([lambda step: None])
    pids = subject.pids
    subject.close()
    assert all(map(gone, pids))
