"""A worker of a Python function: what it holds in its hands, and how it answers the seven exchanges meanwhile.

The function runs in a thread of its own once the job is accepted. One job at a time: a second one is declined, and says why. No
wire is known here: a frame comes in as bytes, and its reply goes out.
"""

import queue
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal

from attrs import define, field
from pydantic import JsonValue, ValidationError

from lifecycle.law import acts
from lifecycle.law.door import malformed, shown
from lifecycle.law.states import Work
from lifecycle.law.terms import Need
from lifecycle.worker.frames import (
    Answer,
    Ask,
    BadFrame,
    Called,
    Came,
    Can,
    Cannot,
    CannotTell,
    Free,
    Given,
    Look,
    Needs,
    Reply,
    Status,
    Stopped,
    Taken,
    Task,
    read_ask,
)
from lifecycle.worker.journal import Journal

WINDS_UP = 0.5
"""Seconds that the work is given to end by itself once it is to stop: after that nothing is claimed of how it leaves things."""

Condition = Literal["working", "blocked", "done", "failed", "stopped"]


class Stop(Exception):
    """Raised in the work where the manager has asked it to stop. Let it pass, or put things back first."""


class TimeUp(Exception):
    """Raised in the work when its time is up: the job has failed, as it was held to its deadline."""


class CallRefused(Exception):
    """A tool call was not executed; `given` says why."""

    def __init__(self, given: Given) -> None:
        super().__init__(f"call `{given.call}` {given.status}: {given.why}")
        self.given = given


@define
class Desk:
    """What the work holds in its hands: the task, and its ways to speak."""

    task: Task
    _send: Callable[[Called | Look], object]
    condition: Condition = "working"
    line: str = "begun"
    points_at: tuple[acts.Pointer, ...] = ()
    need: Need | None = None
    came: Came = field(factory=lambda: Came(came="not_yet"))
    work: Work = Work.UNTOUCHED
    _given: "queue.Queue[Given | None]" = field(factory=queue.Queue)
    _heard: "queue.Queue[dict[str, JsonValue] | None]" = field(factory=queue.Queue)
    _calls: int = 0
    stopping: threading.Event = field(factory=threading.Event)
    _over: threading.Event = field(factory=threading.Event)

    def progress(self, line: str, *points_at: str) -> None:
        """Say how it is going, and what that points at. Stop if the work is to stop."""
        self.look()
        self.line, self.points_at = line, tuple(acts.Pointer(ref) for ref in points_at)
        self.work = Work.PARTIAL
        self._send(Look(look=self.task.job))

    def look(self) -> None:
        """Stop if the work is to stop; TimeUp if it was to be complete by now."""
        if self.stopping.is_set():
            raise Stop
        due = self.task.terms.complete_by
        if due is not None and datetime.now(UTC) >= due:
            raise TimeUp(f"it was to be complete by {due.isoformat()}")

    def call(self, tool: str, /, **arguments: JsonValue) -> JsonValue:
        """Have the host run a tool, and wait for its output; CallRefused if it was not executed."""
        self.look()
        self._calls += 1
        call = f"c{self._calls}"
        self._send(Called(call=call, job=self.task.job, tool=tool, arguments=arguments))
        while (given := self._given.get()) is not None:
            if given.call != call:
                continue
            if given.status != "executed":
                raise CallRefused(given)
            self.work = Work.PARTIAL
            return given.output
        raise Stop

    def ask(self, what: str, whom: str) -> str:
        """Block until a party has answered, and give its answer."""
        self.need, self.condition = Need(what, whom), "blocked"
        self._send(Look(look=self.task.job))
        while (heard := self._heard.get()) is not None:
            if heard.get("act") == "resolve":
                return str(heard.get("answer"))
        raise Stop

    def done(self, *artifacts: str, value: JsonValue = None, met: Mapping[str, str] | None = None) -> acts.Deliver:
        """A delivery: what was made, and for each condition that is met what shows it; the others are unverifiable."""
        shows = met or {}
        findings = tuple(
            acts.Finding(one.id, "met", shows[one.id]) if one.id in shows else acts.Finding(one.id, "unverifiable")
            for one in self.task.terms.conditions
        )
        report = acts.Report(findings) if findings else None
        return acts.Deliver(artifacts=tuple(acts.Artifact(name) for name in artifacts), value=value, report=report)


Job = Callable[[Desk], acts.Deliver | acts.Fail | JsonValue]
Take = Callable[[Task], acts.Accept | acts.Decline | acts.Counter | acts.Defer]
Estimates = Callable[[Task], Can | Cannot | CannotTell]


def accepts(task: Task) -> acts.Accept:
    """Take whatever is asked, on its terms."""
    return acts.Accept()


class Served:
    """A function as a worker of the seven exchanges. In-process it is one; `serve` puts it behind a pipe."""

    def __init__(
        self, work: Job, take: Take = accepts, send: Callable[[Called | Look], object] | None = None,
        journal: Journal | None = None, estimate: Estimates | None = None,
    ) -> None:  # fmt: skip
        self._work, self._take, self._journal, self._estimate = work, take, journal, estimate
        self._send = send or _no_host
        self._past: dict[str, Came] = journal.recall() if journal is not None else {}
        """What came of jobs of which only the journal knows."""
        self._desks: dict[str, Desk] = {}
        self._taken: dict[str, acts.Act] = {}

    def answer(self, ask: Ask) -> Answer:
        """The answer to one ask. BadFrame if the ask lacks what it needs."""
        desk = self._desks.get(ask.job or (ask.task.job if ask.task else ""))
        if desk is not None:
            for act in ask.heard:
                self._hears(desk, act)
            desk = self._desks[desk.task.job]  # a rework has begun anew
        past = self._past.get(ask.job or "")
        match ask.ask:
            case "free":
                return Free(free=self._busy() is None)
            case "estimate":
                return self._estimated(_task(ask))
            case "take":
                return Taken(act=self._takes(_task(ask)))  # type: ignore[arg-type]  # one of the four
            case "status":
                return Status(status=desk.condition, line=desk.line, points_at=desk.points_at) if desk else _recalled(past)
            case "result":
                return desk.came if desk else past or Came(came="never_accepted")
            case "needs":
                return Needs(need=desk.need if desk else None)
            case _:
                return self._stops(desk, ask)

    def reply(self, line: bytes) -> Reply | None:
        """The reply to one frame off a wire, whatever it is; none to what became of a call."""
        try:
            frame = read_ask(line)
            if isinstance(frame, Given):
                self.given(frame)
                return None
            answer = self.answer(frame)
        except BadFrame as error:
            return Reply(nonce=error.nonce, refused=str(error))
        return Reply(nonce=frame.nonce, answer=answer.model_dump(mode="json", exclude_none=True))

    def given(self, given: Given) -> None:
        """What became of a call goes to whoever waits for it."""
        for desk in self._desks.values():
            desk._given.put(given)

    def close(self) -> None:
        """Whatever is at work is to stop."""
        for desk in self._desks.values():
            _stop(desk)

    def _busy(self) -> Desk | None:
        return next((desk for desk in self._desks.values() if desk.condition in ("working", "blocked")), None)

    def _estimated(self, task: Task) -> Answer:
        if self._estimate is not None:
            return self._estimate(task)
        act = self._take(task)
        return Cannot(why=act.reason) if isinstance(act, acts.Decline) else Can(commitment=False)

    def _takes(self, task: Task) -> acts.Act:
        """The answer to a request; asked again, the same one."""
        if task.job in self._taken:
            return self._taken[task.job]
        if (busy := self._busy()) is not None:
            return acts.Decline(kind="over_capacity", reason=f"at work on `{busy.task.job}`", mend="ask again when that is done")
        act = self._take(task)
        if isinstance(act, acts.Accept):
            if self._journal is not None:
                self._journal.accept(task.job)
            self._taken[task.job] = act
            self._begin(Desk(task, self._send))
        return act

    def _begin(self, desk: Desk) -> None:
        self._desks[desk.task.job] = desk
        threading.Thread(target=self._do, args=(desk,), daemon=True).start()

    def _do(self, desk: Desk) -> None:
        """Do the work, and keep what came of it, whatever that is."""
        try:
            self._done(desk)
        finally:
            desk._over.set()

    def _done(self, desk: Desk) -> None:
        try:
            made = self._work(desk)
            act = made if isinstance(made, acts.Act) else acts.Deliver.model_validate({"value": made})
        except Stop:
            act = acts.Fail(reason="withdrawn", words="it was stopped", work=desk.work)
            self._keep(desk, Came(came="failed", fail=act), "stopped")
            return
        except ValidationError as error:
            act = acts.Fail(words=f"what it made is no delivery: {malformed(error).detail}", work=desk.work)
        except Exception as error:
            act = acts.Fail(words=f"{type(error).__name__}: {shown(str(error), 2_000)}", work=desk.work)
        if isinstance(act, acts.Fail):
            self._keep(desk, Came(came="failed", fail=act), "failed")
        else:
            assert isinstance(act, acts.Deliver)
            self._keep(desk, Came(came="done", deliver=act), "done")

    def _keep(self, desk: Desk, came: Came, condition: Condition) -> None:
        """What came of it is written down before it is told."""
        if self._journal is not None:
            self._journal.end(desk.task.job, came)
        desk.came, desk.condition = came, condition
        self._send(Look(look=desk.task.job))

    def _hears(self, desk: Desk, act: dict[str, JsonValue]) -> None:
        """A rework begins the work anew; an answer ends the wait for it at once, whenever the work wakes."""
        if act.get("act") == "rework":
            self._begin(Desk(desk.task, self._send))
            return
        if act.get("act") == "resolve":
            desk.need, desk.condition = None, "working"
        desk._heard.put(act)

    def _stops(self, desk: Desk | None, ask: Ask) -> Stopped:
        if desk is None:
            return Stopped(work=Work.UNTOUCHED, words="never accepted")
        _stop(desk)
        if not desk._over.wait(WINDS_UP):
            desk.condition = "stopped"
            return Stopped(work=Work.UNKNOWN, words="it was told to stop, and is still in the middle of something")
        return Stopped(work=desk.work if desk.condition != "done" else Work.COMPLETE)


def _recalled(past: Came | None) -> Status:
    """The status of a job of which only the journal knows, if that does."""
    if past is None:
        return Status(status="never_accepted")
    return Status(status="done" if past.came == "done" else "failed", line=past.fail.words if past.fail else "done before")


def _stop(desk: Desk) -> None:
    desk.stopping.set()
    desk._given.put(None)
    desk._heard.put(None)


def _task(ask: Ask) -> Task:
    if ask.task is None:
        raise BadFrame(f"`{ask.ask}` without a task", ask.nonce)
    return ask.task


def _no_host(frame: Called | Look) -> None:
    if isinstance(frame, Called):
        raise RuntimeError(f"there is no host to run `{frame.tool}`")
