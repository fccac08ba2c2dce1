"""The engine on a SQLite file, through processes: what `lifecycle fuzz sqlite:` tries.

Whatever the kit asks is done by a child that holds an engine on the real file; a kill is a kill -9. The parent has the clock, and
stands in every child's way before each step of a client. Nothing is waited for longer than `PATIENCE`.
"""

import multiprocessing
import pickle
import shutil
import signal
import sys
import tempfile
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from operator import methodcaller
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

from lifecycle.conformance.fuzz.engines import Clock, EngineSubject, Stepping
from lifecycle.conformance.fuzz.sayings import LIMITS
from lifecycle.conformance.fuzz.subject import Answer, Turn
from lifecycle.law.acts import ACTS, Act
from lifecycle.law.errors import LifecycleError
from lifecycle.law.limits import Limits
from lifecycle.law.log import Store
from lifecycle.stores.sqlite import SqliteStore

PATIENCE = 30.0
"""Seconds that a child is given for one step, before it counts as stuck; what SQLite waits for others is a third of it."""

Opens: TypeAlias = Callable[[Path, Clock], Store]
"""Opens the store of a file, in a child: a class, or a function of a module."""

for _model in ACTS.values():
    _model.model_rebuild()  # here, in the server that children are forked from, or every child would do it for itself


class ChildLost(LifecycleError):
    """A process that holds the store died unasked, or fell silent. Remedy: find out why; the next call has another process."""


# ---- what is said in the pipe


@frozen
class _Open:
    """Begin anew on this file, knowing nothing; `stepped`: ask before every step."""

    path: Path
    stepped: bool


_Asked: TypeAlias = Callable[[EngineSubject], object]
"""Any other call, which goes through the pipe as the name of a method and what it is given."""

_Told: TypeAlias = Answer | Mapping[str, object]


@frozen
class _At:
    """What a child is told, and the time by the parent's clock. None lets it take the step that it stands before."""

    now: datetime
    asked: _Open | _Asked | None = None


@frozen
class _Before:
    """The child stands before this step, and waits to be let go on."""

    step: str


@frozen
class _Done:
    told: _Told = None


@frozen
class _Raised:
    error: Exception


_SWEEP = methodcaller("advance", timedelta(0))


# ---- the child


class _Seat(EngineSubject):
    """What a child does its work with: an engine on one file, and the parent's time."""

    def __init__(self, pipe: Connection, at: _At, opens: Opens, limits: Limits) -> None:
        self._pipe, self._at, self._opens = pipe, at, opens
        super().__init__(limits=limits)

    def opened(self, clock: Clock) -> Store:
        """The store of the file."""
        assert isinstance(self._at.asked, _Open)
        clock.now = self._at.now
        store = self._opens(self._at.asked.path, clock)
        return Stepping(store, self._before) if self._at.asked.stepped else store

    def does(self, now: datetime, asked: _Asked) -> _Told:
        """What was asked, at this time."""
        self._clock.now = now
        told = asked(self)
        assert told is None or isinstance(told, str | Mapping)
        return told

    def _before(self, step: str) -> None:
        self._pipe.send(_Before(step))
        try:
            self._clock.now = self._pipe.recv().now
        except EOFError:
            raise SystemExit from None


def serve(pipe: Connection, opens: Opens, limits: Limits) -> None:
    """A child's whole life: do what is asked, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent who ends it
    seat: _Seat | None = None
    with suppress(EOFError):
        while True:
            at: _At = pipe.recv()
            told: _Told = None
            try:
                if isinstance(at.asked, _Open):
                    if seat is not None:
                        seat.store.close()
                    seat = _Seat(pipe, at, opens, limits)
                elif at.asked is not None and seat is not None:
                    told = seat.does(at.now, at.asked)
                answer: _Done | _Raised = _Done(told)
            except Exception as error:
                answer = _Raised(_carried(error))
            pipe.send(answer)


def _carried(error: Exception) -> Exception:
    """The error with the child's traceback; another that says the same, if it cannot go through a pipe."""
    trace = traceback.format_exc()
    try:
        carried = pickle.loads(pickle.dumps(error))
    except Exception:
        carried = None
    if type(carried) is not type(error):
        carried = ChildLost(f"in a child: {type(error).__name__}: {error}; to mend it, read the child's traceback")
    assert isinstance(carried, Exception)
    carried.add_note(trace)
    return carried


# ---- the parent


class _Child:
    """One process, as its parent sees it."""

    def __init__(self, opens: Opens, limits: Limits, patience: float) -> None:
        self._patience = patience
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = _process(theirs, opens, limits)
        self._process.start()
        theirs.close()
        self.pid = self._process.pid
        self.exitcode: int | None = None
        """What it ended with, once it was killed or lost."""
        self.busy = False
        """Whether it was asked something and has not answered yet."""

    def ask(self, asked: _Open | _Asked, clock: Clock, turn: Turn = lambda step: None) -> _Told:
        """What it answers; before each of its steps, the turn. Whatever comes between, a turn that raises or a limit, kills it."""
        self.busy = True
        try:
            self._send(_At(clock.now, asked))
            while isinstance(heard := self._heard(), _Before):
                turn(heard.step)
                self._send(_At(clock.now))
        except BaseException:
            self.kill()
            raise
        self.busy = False
        if isinstance(heard, _Raised):
            raise heard.error
        return heard.told

    def kill(self) -> None:
        """Kill it for good, and see it gone; twice is once."""
        if self.exitcode is None:
            self._process.kill()
            self._process.join()
            self.exitcode = self._process.exitcode
            self._process.close()
            self._pipe.close()

    def _send(self, at: _At) -> None:
        if self.exitcode is not None:
            raise ChildLost(f"process {self.pid} was killed; to mend it, ask for a new client")
        try:
            self._pipe.send(at)
        except OSError as error:
            raise self._died() from error

    def _heard(self) -> _Before | _Done | _Raised:
        try:
            if not self._pipe.poll(self._patience):
                raise ChildLost(f"process {self.pid} said nothing for {self._patience:g} s; to mend it, look for what held it")
            heard = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise self._died() from error
        assert isinstance(heard, _Before | _Done | _Raised)
        return heard

    def _died(self) -> ChildLost:
        self._process.join(1.0)  # its pipe ends before it does
        self.kill()
        return ChildLost(f"process {self.pid} died unasked and ended with {self.exitcode}; to mend it, look for what killed it")


class Remote:
    """One client: a process of its own, which takes a turn before every step."""

    def __init__(self, child: _Child, turn: Turn, clock: Clock) -> None:
        self._child, self._turn, self._clock = child, turn, clock

    @property
    def exitcode(self) -> int | None:
        """What its process ended with: minus nine, if it was killed. None while it lives."""
        return self._child.exitcode

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act."""
        return _answer(self._child.ask(methodcaller("submit", job, act, by=by, id=id), self._clock, self._turn))

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and everything lapse that is due."""
        self._clock.now += delta
        self._child.ask(_SWEEP, self._clock, self._turn)


@frozen
class _Room:
    """What is to be cleared away in the end: the directory of the files, and every child."""

    place: Path
    children: list[_Child] = field(factory=list)

    def clear(self) -> None:
        for child in self.children:
            child.kill()
        shutil.rmtree(self.place, ignore_errors=True)


class ProcessSubject:
    """The engine on a SQLite file, in processes that are really killed."""

    def __init__(self, opens: Opens = SqliteStore, limits: Limits = LIMITS, patience: float = PATIENCE) -> None:
        """`patience`: seconds that a process is given for one step."""
        self.limits = limits
        self._opens, self._patience = opens, patience
        self._room = _Room(Path(tempfile.mkdtemp(prefix="lifecycle-fuzz-")))
        self._lives = count(1)
        self._main: _Child | None = None
        self._lent: list[_Child] = []
        self._spare: list[_Child] = []
        self.close = weakref.finalize(self, self._room.clear)
        self.reset()

    @property
    def pids(self) -> list[int]:
        """The processes that live now, oldest first."""
        return [child.pid for child in self._room.children if child.exitcode is None and child.pid is not None]

    def reset(self) -> None:
        """Begin anew, on a new file; children that live and wait go on to it."""
        for child in self._lent:
            if child.busy:
                child.kill()
        self._spare, self._lent = [child for child in (*self._spare, *self._lent) if child.exitcode is None], []
        self._clock = Clock()
        life = self._room.place / str(next(self._lives))
        life.mkdir()
        self._path = life / "jobs.db"
        self._main = self._opened(self._main)
        for old in self._room.place.iterdir():
            if old != life:
                shutil.rmtree(old, ignore_errors=True)

    def submit(self, job: str, act: Act, *, by: str, id: str) -> Answer:
        """Make an act."""
        return _answer(self._ask(methodcaller("submit", job, act, by=by, id=id)))

    def stage(self, job: str) -> str | None:
        """The stage that the job is in."""
        return _answer(self._ask(methodcaller("stage", job)))

    def facts(self, job: str) -> Mapping[str, object]:
        """All that is known of a job."""
        told = self._ask(methodcaller("facts", job))
        assert isinstance(told, Mapping)
        return told

    def restart(self) -> None:
        """Kill every process, and begin with a new one on the same file."""
        for child in self._room.children:
            child.kill()
        self._room.children.clear()
        self._lent, self._spare = [], []
        self._main = self._opened(None)

    def advance(self, delta: timedelta) -> None:
        """Let time pass, and everything lapse that is due."""
        self._clock.now += delta
        self._ask(_SWEEP)

    def clients(self, turns: Sequence[Turn]) -> Sequence[Remote]:
        """A process for each turn, with an engine that knows nothing yet."""
        clients = []
        for turn in turns:
            child = self._opened(self._spare.pop() if self._spare else None, stepped=True)
            self._lent.append(child)
            clients.append(Remote(child, turn, self._clock))
        return clients

    def _ask(self, asked: _Asked) -> _Told:
        if self._main is None or self._main.exitcode is not None:
            self._main = self._opened(None)
        return self._main.ask(asked, self._clock)

    def _opened(self, child: _Child | None, *, stepped: bool = False) -> _Child:
        """This child or, if it does not live, a new one; with the file open, and no memory."""
        if child is None or child.exitcode is not None:
            child = _Child(self._opens, self.limits, self._patience)
            self._room.children[:] = [*(one for one in self._room.children if one.exitcode is None), child]
        child.ask(_Open(self._path, stepped), self._clock)
        return child


def _answer(told: _Told) -> Answer:
    assert not isinstance(told, Mapping)
    return told


def _process(pipe: Connection, opens: Opens, limits: Limits) -> BaseProcess:
    """A child: forked from a server that has imported all it needs, and never opened a store; else made from nothing."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn").Process(target=serve, args=(pipe, opens, limits), daemon=True)
    context = multiprocessing.get_context("forkserver")
    mains = [name for name in ("pytest", "lifecycle.cli") if name in sys.modules]  # every child imports the main script anew
    context.set_forkserver_preload([__name__, *mains])
    return context.Process(target=serve, args=(pipe, opens, limits), daemon=True)
