"""Faulty workers, each the reference worker with one fault, and the must whose probe is to catch it.

A mutant is a whole program, behind stdio or HTTP: `python -m lifecycle.conformance.workers.reference [--http PORT] NAME`. Its
docstring tells the fault.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from lifecycle.conformance.workers.bench import TOKEN
from lifecycle.conformance.workers.reference import COMMITTED, GOALS, STEP, Reference, effect, work
from lifecycle.law import acts
from lifecycle.law.states import Work
from lifecycle.law.terms import Condition, Need
from lifecycle.worker import (
    Answer,
    Ask,
    BadFrame,
    Can,
    CannotTell,
    Desk,
    Free,
    Needs,
    Pipe,
    Reply,
    Status,
    Stop,
    Stopped,
    Taken,
    on_stdio,
)
from lifecycle.worker.http import on_http


class ClosedSetAnswered(Reference):
    """A ninth exchange is answered politely."""

    def reply(self, line: bytes) -> Reply | None:
        held = from_json(line)
        if held.get("ask") == "price":
            return Reply(nonce=held["nonce"], answer={"sorry": "we do not speak of that"})
        return super().reply(line)


class NinthRefusedBarely(Reference):
    """A ninth exchange is refused, and no reason is given."""

    def reply(self, line: bytes) -> Reply | None:
        told = super().reply(line)
        return Reply(nonce=told.nonce) if told is not None and told.refused else told


class WatcherAnswersFree(Reference):
    """A watcher before the agent answers that it is free, without asking it."""

    def __init__(self, send: object = None) -> None:
        super().__init__(send)
        self._agent = Pipe([sys.executable, "-m", "lifecycle.conformance.workers.reference"], deadline=30.0)

    def reply(self, line: bytes) -> Reply | None:
        held = from_json(line)
        if held.get("ask") == "free":
            return Reply(nonce=held["nonce"], answer={"free": True})
        return self._agent.say(line, held["nonce"], held["ask"])


class AlwaysFree(Reference):
    """It says that it is free while it is at work, and then declines."""

    def answer(self, ask: Ask) -> Answer:
        return Free(free=True) if ask.ask == "free" else super().answer(ask)


class InventedEstimate(Reference):
    """A number for what is not its trade at all."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Can(commitment=False, seconds=3.0) if ask.ask == "estimate" and _goal(ask) == GOALS.outside else told


class NumberInsteadOfCannotTell(Reference):
    """A number where the deciding fact is withheld."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Can(commitment=False, seconds=3.0) if isinstance(told, CannotTell) else told


class CannotTellForEverything(Reference):
    """It cannot tell, whatever is asked."""

    def answer(self, ask: Ask) -> Answer:
        return CannotTell(missing="something") if ask.ask == "estimate" else super().answer(ask)


class NoCommitmentFlag(Reference):
    """An estimate that does not say whether it is a commitment, on any input but the plainest."""

    def reply(self, line: bytes) -> Reply | None:
        told = super().reply(line)
        if told is None or told.answer is None or told.answer.get("commitment") is not False:
            return told
        return Reply(nonce=told.nonce, answer={key: held for key, held in told.answer.items() if key != "commitment"})


class OverrunsItsCommitment(Reference):
    """It commits to a time, and takes longer without a word."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        if desk.task.goal == GOALS.plain:
            time.sleep(COMMITTED + 1.5)
        return work(desk)


class BareRefusal(Reference):
    """It refuses, and says nothing."""

    def answer(self, ask: Ask) -> Answer:
        return _declines(ask, super().answer(ask), acts.Decline(reason="no"))


class BusyForEverything(Reference):
    """It refuses whatever it does not like as if it were busy."""

    def answer(self, ask: Ask) -> Answer:
        return _declines(ask, super().answer(ask), acts.Decline(kind="over_capacity", reason="too much to do just now"))


class DropsAnAcceptedJob(Reference):
    """After a crash it has never heard of the job that it had accepted."""

    remembers = False


class AbandonedStaysWorking(Reference):
    """After a crash it says for ever that it is working."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        lost = isinstance(told, Status) and "process ended" in told.line
        return Status(status="working", line="at it") if lost else told


class PoisonStaysWorking(Reference):
    """What it cannot do it never admits to have failed at."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        while desk.task.goal == GOALS.poison:
            desk.progress("at it")
            time.sleep(STEP)
        return work(desk)


class QuietWhenSlow(Reference):
    """While it is at work it does not answer how it is going."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        if isinstance(told, Status) and told.status == "working":
            time.sleep(30.0)
        return told


class ProgressByTimer(Reference):
    """It tells of per cent, and there is nothing behind them."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        done = 0
        while desk.task.goal == GOALS.slow:
            done += 1
            desk.look()
            desk.line = f"{done} % done"
            time.sleep(STEP)
        return work(desk)


class StatusForAnything(Reference):
    """Of a job that it never accepted it says that it is working."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Status(status="working") if isinstance(told, Status) and told.status == "never_accepted" else told


class DoneWithoutArtifact(Reference):
    """It is done, and there is nothing in the result."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        made = work(desk)
        return made if isinstance(made, acts.Fail) else acts.Deliver()


class DoneWithoutEffect(Reference):
    """It names what it has made, and has made nothing."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        return desk.done("ledger", met={"done": "ledger"}) if desk.task.goal == GOALS.plain else work(desk)


class WorkingWhenBlocked(Reference):
    """It waits for what only the requester has, and says that it is working."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Status(status="working") if isinstance(told, Status) and told.status == "blocked" else told


class BlockWithoutWho(Reference):
    """It needs something from someone."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Needs(need=Need(told.need.what, "someone")) if isinstance(told, Needs) and told.need else told


class WorksAfterStop(Reference):
    """It reports that it has stopped, and goes on."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        try:
            return work(desk)
        except Stop:
            for _ in range(60):
                effect(desk.task.job)
                time.sleep(STEP)
            raise


class StopWithoutCondition(Reference):
    """It stops, and does not know in which condition it left the work."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Stopped(work=Work.UNKNOWN) if isinstance(told, Stopped) else told


class PriceInTheReason(Reference):
    """It names its price where the reason belongs."""

    def answer(self, ask: Ask) -> Answer:
        return _declines(ask, super().answer(ask), acts.Decline(kind="out_of_scope", reason="not at this rate: 40 USD would do"))


class IgnoresTheDeadline(Reference):
    """It works on past the deadline that it was given."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        desk.task = desk.task.model_copy(update={"terms": _timeless(desk)})
        return work(desk)


class InventsADeadline(Reference):
    """Nobody gave it a deadline, and it fails as if it had passed one."""

    @staticmethod
    def work(desk: Desk) -> acts.Deliver | acts.Fail:
        until = time.monotonic() + 1.0
        while desk.task.goal == GOALS.slow:
            effect(desk.task.job)
            desk.progress("at it", "ledger")
            if time.monotonic() > until:
                return acts.Fail(words="the time for such a job is over", work=desk.work)
            time.sleep(STEP)
        return work(desk)


class InventsTerms(Reference):
    """It accepts on a condition that nobody gave it."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        if isinstance(told, Taken) and isinstance(told.act, acts.Accept):
            return Taken(act=acts.Accept(conditions=(Condition("mine", "whoever asks says thank you"),)))
        return told


class SerialisesSilently(Reference):
    """It takes a second job without a word, and does it after the first."""

    def answer(self, ask: Ask) -> Answer:
        return _serialises(ask, super().answer(ask), acts.Accept())


class ClaimsBesideButSerialises(Reference):
    """It says that the second job runs beside the first, and does it after it."""

    def answer(self, ask: Ask) -> Answer:
        return _serialises(ask, super().answer(ask), acts.Accept(alongside=True))


class GuessesAndTakes(Reference):
    """What it cannot tell it takes all the same."""

    def answer(self, ask: Ask) -> Answer:
        told = super().answer(ask)
        return Taken(act=acts.Accept()) if isinstance(told, Taken) and _goal(ask) == GOALS.vague else told


class Signs(Reference):
    """Its answers carry a signature."""

    def reply(self, line: bytes) -> Reply | None:
        told = super().reply(line)
        if told is None or told.answer is None or "can" not in told.answer:
            return told
        return Reply(nonce=told.nonce, answer={**told.answer, "signature": "MEUCIQD"})


class SilentOnOne(Reference):
    """Six exchanges are answered, the seventh is not."""

    def answer(self, ask: Ask) -> Answer:
        if ask.ask == "needs":
            time.sleep(30.0)
        return super().answer(ask)


class RefusesOneBarely(Reference):
    """Six exchanges are answered, the seventh is refused without a reason."""

    def answer(self, ask: Ask) -> Answer:
        if ask.ask == "needs":
            raise BadFrame("", ask.nonce)
        return super().answer(ask)


MUTANTS: Mapping[str, tuple[int, type[Reference]]] = {
    "closed_set_answered": (1, ClosedSetAnswered),
    "ninth_refused_barely": (1, NinthRefusedBarely),
    "watcher_answers_free": (2, WatcherAnswersFree),
    "always_free": (3, AlwaysFree),
    "invented_estimate": (4, InventedEstimate),
    "number_instead_of_cannot_tell": (4, NumberInsteadOfCannotTell),
    "cannot_tell_for_everything": (4, CannotTellForEverything),
    "no_commitment_flag": (5, NoCommitmentFlag),
    "overruns_its_commitment": (6, OverrunsItsCommitment),
    "bare_refusal": (7, BareRefusal),
    "busy_for_everything": (7, BusyForEverything),
    "drops_an_accepted_job": (8, DropsAnAcceptedJob),
    "abandoned_stays_working": (8, AbandonedStaysWorking),
    "poison_stays_working": (8, PoisonStaysWorking),
    "quiet_when_slow": (9, QuietWhenSlow),
    "progress_by_timer": (10, ProgressByTimer),
    "status_for_anything": (11, StatusForAnything),
    "done_without_artifact": (12, DoneWithoutArtifact),
    "done_without_effect": (12, DoneWithoutEffect),
    "working_when_blocked": (13, WorkingWhenBlocked),
    "block_without_who": (13, BlockWithoutWho),
    "works_after_stop": (14, WorksAfterStop),
    "stop_without_condition": (14, StopWithoutCondition),
    "price_in_the_reason": (15, PriceInTheReason),
    "ignores_the_deadline": (16, IgnoresTheDeadline),
    "invents_a_deadline": (16, InventsADeadline),
    "invents_terms": (16, InventsTerms),
    "serialises_silently": (17, SerialisesSilently),
    "claims_beside_but_serialises": (17, ClaimsBesideButSerialises),
    "guesses_and_takes": (18, GuessesAndTakes),
    "signs": (19, Signs),
    "silent_on_one": (20, SilentOnOne),
    "refuses_one_barely": (20, RefusesOneBarely),
}
"""Every mutant by its name: the must it breaks, and the worker."""


def main(words: Sequence[str]) -> None:
    """Be the reference worker, or a mutant of it."""
    port = int(words[1]) if words[:1] == ["--http"] else None
    name = words[-1] if words and words[-1] in MUTANTS else ""
    kind = MUTANTS[name][1] if name else Reference
    if port is None:
        on_stdio(kind)
    else:
        on_http(kind, token=os.environ[TOKEN], port=port)


def _goal(ask: Ask) -> str:
    return ask.task.goal if ask.task is not None else ""


def _declines(ask: Ask, told: Answer, instead: acts.Decline) -> Answer:
    """The same answer; another refusal where it refuses what it is not busy for."""
    refuses = isinstance(told, Taken) and isinstance(told.act, acts.Decline) and told.act.kind != "over_capacity"
    return Taken(act=instead) if refuses else told


def _serialises(ask: Ask, told: Answer, instead: acts.Accept) -> Answer:
    """The same answer; an acceptance where it is busy."""
    busy = isinstance(told, Taken) and isinstance(told.act, acts.Decline) and told.act.kind == "over_capacity"
    return Taken(act=instead) if busy else told


def _timeless(desk: Desk) -> Any:
    terms = desk.task.terms
    return type(terms)(terms.conditions, terms.exclusions)
