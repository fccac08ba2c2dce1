"""Several engines at one job at once: whatever they come to, they could have come to one after the other."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from lifecycle import Conflict, Engine, Jobs, Reason, Receipt, Stage, Submission, acts
from lifecycle.law.states import ENDED

from .conftest import Place
from .relay import Between
from .stories import NOON, SECOND, Clock, at, attempt, counted, lines, request, serial

NO_NEWS = acts.Progress(line="no news", nothing_new=True)


@pytest.fixture(autouse=True)
def restless_threads() -> Iterator[None]:
    """Threads change places every tenth of a millisecond or so."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(interval)


class Racers:
    """Threads that start at one moment."""

    def __init__(self, many: int) -> None:
        self._pool, self._line = ThreadPoolExecutor(many), threading.Barrier(many)

    def __enter__(self) -> "Racers":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def race(self, turns: Sequence[Callable[[], object]]) -> list[object]:
        """What each came to."""
        return [turn.result() for turn in [self._pool.submit(self._run, turn) for turn in turns]]

    def _run(self, turn: Callable[[], object]) -> object:
        self._line.wait(20)
        return turn()


def requested(jobs: Jobs, names: Sequence[str]) -> None:
    """Many jobs, requested in one commit."""
    jobs.submit_all([(name, acts.Request(goal="g", worker="wes"), "ann") for name in names])


@pytest.mark.parametrize("racers", [2, 3])
def test_case_87_cancel_against_accept_a_thousand_times(place: Place, clock: Clock, racers: int) -> None:
    """Cancel against accept, 1,000 times on both stores; and by three engines: every time the outcome is that of a serial order."""
    engines = [place.open() for _ in range(racers)]
    names = [f"j{n}" for n in range(1_000 if racers == 2 or place.url == "memory:" else 200)]
    requested(engines[0], names)
    seen: set[tuple[object, ...]] = set()
    with Racers(racers) as line:
        for n, name in enumerate(names):
            stood = engines[0].job(name)
            moves = [("wes", acts.Accept(answers=name)), ("ann", acts.Cancel()), ("wes", acts.Decline(answers=name, reason="no"))]
            moves = moves[:racers]
            turns = [
                (lambda engine=engine, by=by, act=act, name=name: attempt(engine, name, by, act))
                for engine, (by, act) in zip([*engines[n % racers :], *engines[: n % racers]], moves, strict=True)
            ]
            outcome = tuple(line.race(turns))
            assert outcome in (possible := serial(stood, moves, clock()))
            assert len(engines[0].log(name)) == 1 + sum(came[0] == "made" for came in outcome)
            seen.add(outcome)
    assert len(possible) == (2 if racers == 2 else 4)
    assert seen <= possible
    assert len(engines[0].find(open=True)) == 0
    assert engines[0].audit() == []


@pytest.mark.parametrize("asked", [False, True], ids=["no verdict", "verdict"])
def test_threads_of_one_engine_race_to_one_end(jobs: Jobs, clock: Clock, asked: bool) -> None:
    """Deliver against cancel, by threads that share one engine and what it remembers."""
    names = [f"j{n}" for n in range(100)]
    jobs.submit_all([(name, acts.Request(goal="g", worker="wes", verdict=asked), "ann") for name in names])
    jobs.submit_all([(name, acts.Accept(answers=name), "wes") for name in names])
    moves = [("wes", acts.Deliver(value=1)), ("ann", acts.Cancel())]
    with Racers(2) as line:
        for name in names:
            stood = jobs.job(name)
            turns = [(lambda by=by, act=act, name=name: attempt(jobs, name, by, act)) for by, act in moves]
            assert tuple(line.race(turns)) in serial(stood, moves, clock())
            assert len(jobs.log(name)) == 3


def test_accept_races_its_own_deadline(place: Place, clock: Clock) -> None:
    """Accept against the sweep that makes the request lapse, as the clock passes the deadline: one of them, told to the other."""
    worker, sweeper = place.open(), place.open()
    names = [f"j{n}" for n in range(200)]
    seen = set()
    with Racers(2) as line:
        for name in names:
            due = clock.time + SECOND
            worker.submit(name, acts.Request(goal="g", worker="wes", respond_by=due), by="ann")

            def lapses(due: object = due) -> list[Receipt]:
                clock.time = due  # type: ignore[assignment]
                return sweeper.sweep()

            came, swept = line.race([lambda name=name: attempt(worker, name, "wes", acts.Accept(answers=name)), lapses])
            log = [entry.act.act for entry in worker.log(name)]
            assert log in (["request", "accept"], ["request", "lapse"])
            if log[1] == "accept":
                assert (came, swept) == (("made", 1, Stage.READY), [])
            else:  # whoever came first made it lapse: the sweep, or the acceptance that found it due
                assert came == ("refused", Reason.CLOSED, Stage.STOPPED)
            seen.add(log[1])
            worker.submit(name, acts.Cancel(), by="ann") if log[1] == "accept" else None
    assert "lapse" in seen


def test_accept_and_lapse_in_every_interleaving(place: Place, clock: Clock) -> None:
    """The deadline passes, and is swept, just before each thing that an acceptance asks of its store: one of them, and one only."""
    sweeper, inner, seen = place.open(), place.open().store, []
    for n in counted():
        due = clock.time + SECOND
        job = request(sweeper, f"j{n}", respond_by=due)

        def passes(due: object = due) -> None:
            clock.time = due  # type: ignore[assignment]
            sweeper.sweep()

        between = Between(inner, n, passes)
        came = attempt(Engine(between), job.id, "wes", acts.Accept(answers=job.id))
        made = came == ("made", 1, Stage.READY)
        assert made or came == ("refused", Reason.CLOSED, Stage.STOPPED)
        assert lines(job) == ["request", "accept" if made else "lapse"]
        seen.append(made)
        if not between.taken:
            break
    assert seen[-1] and not all(seen)


def test_one_act_sent_by_everybody_at_once_is_made_once(place: Place) -> None:
    """The same act under the same id by four threads on two engines: one entry, and four times the same receipt."""
    engines = [place.open(), place.open()]
    job = at(engines[0], Stage.READY)
    with Racers(4) as line:
        for n in range(50):
            turns = [lambda engine=engine, n=n: engine.submit(job.id, NO_NEWS, by="wes", id=f"p{n}") for engine in engines * 2]
            receipts = line.race(turns)
            assert receipts == [job.log[-1].receipt] * 4
    assert len(job.log) == 52


def test_one_request_sent_by_everybody_at_once_is_one_job(place: Place) -> None:
    """The same request by four threads on two engines: one job; another request under that id: refused."""
    engines = [place.open(), place.open()]
    ours, theirs = acts.Request(goal="g", worker="wes"), acts.Request(goal="other", worker="wes")
    with Racers(4) as line:
        for n in range(50):
            acts_ = [ours, ours, theirs, theirs]
            turns = [
                lambda engine=engine, act=act, n=n: attempt(engine, f"j{n}", "ann", act)
                for engine, act in zip(engines * 2, acts_, strict=True)
            ]
            came = line.race(turns)
            won = engines[0].job(f"j{n}").brief.goal == "g"
            made, lost = ("made", 0, Stage.REQUESTED), ("refused", Reason.ACT_ID_REUSED, Stage.REQUESTED)
            assert came == ([made, made, lost, lost] if won else [lost, lost, made, made])
    assert len(engines[1].find()) == 50


def test_of_all_who_read_one_seq_one_writes(place: Place) -> None:
    """Four engines decide on the same seq: one act is made, three are a Conflict that names where the log stands."""
    engines = [place.open() for _ in range(4)]
    job = at(engines[0], Stage.READY)

    def writes(engine: Jobs, seq: int) -> object:
        try:
            return engine.submit(job.id, NO_NEWS, by="wes", expect=seq).seq
        except Conflict as conflict:
            return conflict.expected, conflict.actual

    with Racers(4) as line:
        for seq in range(1, 51):
            came = line.race([lambda engine=engine, seq=seq: writes(engine, seq) for engine in engines])
            assert sorted(map(str, came)) == sorted([str(seq + 1)] + [str((seq, seq + 1))] * 3)


def test_whoever_names_no_seq_is_never_turned_away(place: Place) -> None:
    """Three engines, two threads each, write to one job as fast as they can: everything is made, in one row without a gap."""
    engines = [place.open() for _ in range(3)]
    job = at(engines[0], Stage.READY)

    def writes(engine: Jobs) -> list[int]:
        return [engine.submit(job.id, NO_NEWS, by="wes").seq for _ in range(25)]

    with Racers(6) as line:
        made = line.race([lambda engine=engine: writes(engine) for engine in engines * 2])
    assert sorted(seq for one in made for seq in one) == list(range(2, 152))  # type: ignore[attr-defined]
    assert all(one == sorted(one) for one in made)  # type: ignore[call-overload]
    assert [entry.seq for entry in job.log] == list(range(152))
    assert engines[0].audit() == []


def test_batches_that_cross_each_other_are_each_whole(place: Place) -> None:
    """Two batches over the same two jobs, in opposite order: neither is ever seen by half, and none is lost."""
    engines = [place.open(), place.open()]
    for name in "ab":
        at(engines[0], Stage.READY, name)

    def writes(engine: Jobs, order: str, who: str) -> None:
        for n in range(25):
            engine.submit_all([Submission(name, NO_NEWS, "wes", id=f"{who}{n}") for name in order])

    with Racers(2) as line:
        line.race([lambda: writes(engines[0], "ab", "x"), lambda: writes(engines[1], "ba", "y")])
    ids = [[entry.id for entry in engines[0].log(name)[2:]] for name in "ab"]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 50


def test_two_sweepers_lapse_each_job_once(place: Place, clock: Clock) -> None:
    """Everybody sweeps at once: each job lapses once, and each lapse is in one sweeper's hands."""
    engines = [place.open() for _ in range(3)]
    names = [f"j{n:03}" for n in range(60)]
    requested(engines[0], names)
    clock.time = NOON + 86_400 * SECOND
    with Racers(3) as line:
        swept = line.race([engine.sweep for engine in engines])
    assert sorted(receipt.job for one in swept for receipt in one) == names  # type: ignore[attr-defined]
    assert all(len(engines[0].log(name)) == 2 for name in names)


def test_readers_see_only_whole_jobs_while_others_write(place: Place) -> None:
    """While jobs run through their lives, every look at any of them, by any view, is a job that was so at some moment."""
    writer, reader = place.open(), place.open()
    done = threading.Event()

    def writes() -> None:
        for n in range(40):
            job = at(writer, Stage.UNVERIFIED, f"j{n}")
            assert job.stage in ENDED
        done.set()

    def reads() -> int:
        seqs: dict[str, int] = {}
        for looks in count(1):
            for row in reader.find():
                job = reader.job(row.job)
                assert job.seq >= seqs.get(row.job, 0)
                seqs[row.job] = job.seq
                log = reader.log(row.job)
                assert [entry.seq for entry in log] == list(range(len(log)))
                assert len(log) > job.seq
            if done.is_set():
                return looks
        return 0

    with Racers(2) as line:
        assert line.race([writes, reads])[1]
