"""Hooks and watchers: what happens after the commit, at least once, outside every lock, and whoever reads along."""

import threading
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from lifecycle import Entry, Jobs, Notice, Stage, acts
from lifecycle.engine import PAGE
from lifecycle.hooks import ATTEMPTS, PAUSE
from lifecycle.law.errors import CorruptLog

from .conftest import Place
from .relay import Failing, Relay, Watched
from .stories import ASKED, HOUR, SECOND, STEPS, WAYS, Clock, at, child, ended, lines, request, soon

Told = list[tuple[str, int]]


def keeps(told: Told, entry: Entry) -> None:
    """A hook that keeps what it was told."""
    told.append((entry.job, entry.seq))


def all_of(jobs: Jobs) -> Told:
    """Every entry there is, in the order of the feed."""
    return [(notice.entry.job, notice.entry.seq) for notice in jobs.watch()]


# Hooks


def test_a_hook_is_told_of_every_entry_in_order(place: Place, jobs: Jobs) -> None:
    """Of all jobs, by whichever engine, lapses too; each job's in order, each once while nothing fails."""
    told: Told = []
    hooked = jobs.on("keep", lambda entry: keeps(told, entry))
    for stage in WAYS:
        at(jobs, stage, stage.name)
    other = place.open()
    at(other, Stage.READY, "other")
    place.clock.ticks(3600 * SECOND)
    other.sweep()
    soon(lambda: len(told) == len(all_of(jobs)))
    assert told == all_of(jobs)
    soon(lambda: hooked.position() == list(jobs.watch())[-1].position)
    assert hooked.failures() == []


def test_a_new_name_begins_with_what_is_new_or_where_it_is_told_to(jobs: Jobs) -> None:
    """Without `after`, what was there before is passed over; with it, told from that position on."""
    at(jobs, Stage.ACCEPTED, **ASKED)
    new, old, later = [], [], []
    jobs.on("new", lambda entry: keeps(new, entry))
    jobs.on("old", lambda entry: keeps(old, entry), after=0)
    jobs.on("later", lambda entry: keeps(later, entry), after=list(jobs.watch())[1].position)
    request(jobs, "next")
    whole = [("job", 0), ("job", 1), ("job", 2), ("job", 3), ("next", 0)]
    soon(lambda: (len(new), len(old), len(later)) == (1, 5, 3))
    assert (new, old, later) == (whole[4:], whole, whole[2:])


def test_a_restart_goes_on_where_it_stopped(place: Place, jobs: Jobs) -> None:
    """What was committed while nobody listened is told after the restart; what was told before it is not told again."""
    first, second = [], []
    hooked = jobs.on("keep", lambda entry: keeps(first, entry))
    at(jobs, Stage.READY, "a")
    soon(lambda: len(first) == 2)
    hooked.stop()
    at(jobs, Stage.READY, "b")
    anew = place.reopen()
    at(anew, Stage.READY, "c")
    anew.on("keep", lambda entry: keeps(second, entry), after=0)  # the name has its place: `after` is for new names
    soon(lambda: len(second) == 4)
    assert first + second == all_of(anew)


def test_a_hook_of_the_same_name_takes_over(jobs: Jobs) -> None:
    """Subscribed again in one process: the new function goes on where the old one stopped, which is told nothing more."""
    old, new = [], []
    jobs.on("keep", lambda entry: keeps(old, entry))
    at(jobs, Stage.READY, "a")
    soon(lambda: len(old) == 2)
    jobs.on("keep", lambda entry: keeps(new, entry))
    at(jobs, Stage.READY, "b")
    soon(lambda: len(new) == 2)
    assert (old, new) == ([("a", 0), ("a", 1)], [("b", 0), ("b", 1)])


def test_a_process_killed_in_its_hook_tells_the_entry_again(shared: Place) -> None:
    """Killed in the middle of a hook: after the restart that entry is told again, and none is passed over: at least once."""
    jobs = shared.open()
    at(jobs, Stage.READY)
    dies = """
        def hook(entry):
            print(entry.seq, flush=True)
            if entry.seq == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        lifecycle.open(sys.argv[1], clock=Clock()).on("mail", hook, after=0)
        signal.pause()
        """
    assert ended(child(dies, shared.url), -9) == "0\n1\n"
    told: Told = []
    jobs.on("mail", lambda entry: keeps(told, entry))
    soon(lambda: told == [("job", 1)])


def test_a_raising_hook_is_tried_again_ever_later_and_then_left_for_retry(jobs: Jobs, clock: Clock) -> None:
    """Recorded, tried five times with pauses that double, then left until it is told to; what comes after it is told meanwhile."""
    broken, told = True, []

    def hook(entry: Entry) -> None:
        if broken and entry.seq == 0:
            raise ValueError(f"not {entry.job} \ud800\x00")
        keeps(told, entry)

    hooked = jobs.on("a/name with / in it", hook)
    job = at(jobs, Stage.READY)
    for attempt in range(1, ATTEMPTS):
        soon(lambda attempt=attempt: [failure.attempts for failure in hooked.failures()] == [attempt])
        (failure,) = hooked.failures()
        assert failure.again_at == clock.time + PAUSE * 2 ** (attempt - 1)
        clock.time = failure.again_at
        hooked.wake()
    soon(lambda: hooked.failures()[0].attempts == ATTEMPTS)
    (failure,) = jobs.hook_failures("a/name with / in it")
    assert (failure.hook, failure.job, failure.seq, failure.again_at) == ("a/name with / in it", "job", 0, None)
    assert failure.error.startswith("ValueError: not job")
    assert (job.stage, told) == (Stage.READY, [("job", 1)])
    clock.ticks(1000 * SECOND)
    hooked.wake()
    hooked.retry()
    assert hooked.failures()[0].attempts == ATTEMPTS + 1
    broken = False
    hooked.retry()
    assert (hooked.failures(), told) == ([], [("job", 1), ("job", 0)])


def test_a_failure_outlives_the_process(place: Place, jobs: Jobs, clock: Clock) -> None:
    """What a hook failed with is on the shelf: after a restart it is listed, and tried again when its time has come."""

    def raises(entry: Entry) -> None:
        raise OSError("no route")

    hooked = jobs.on("mail", raises)
    request(jobs)
    soon(hooked.failures)
    anew = place.reopen()
    assert [failure.error for failure in anew.hook_failures("mail")] == ["OSError: no route"]
    assert anew.hook_failures("other") == []
    told: Told = []
    clock.ticks(SECOND)
    again = anew.on("mail", lambda entry: keeps(told, entry))
    soon(lambda: not again.failures())
    assert told == [("job", 0)]


class Torn(Relay):
    """A store whose feed cannot be read for a while."""

    torn = True

    def feed(self, after: int = 0, limit: int = 1000) -> Sequence[tuple[int, Entry]]:
        if self.torn and limit > 1:
            raise CorruptLog("job", 0, "its bytes are no entry")
        return self.inner.feed(after, limit)


def test_a_hook_survives_a_store_that_does_not(place: Place, jobs: Jobs) -> None:
    """While the store is down, or the feed damaged, a hook waits; once it is back, nothing was passed over."""
    told: Told = []
    failing, torn = Failing(jobs.store, "put", times=3, spares=1), Torn(jobs.store)
    place.over(failing).on("one", lambda entry: keeps(told, entry))
    at(jobs, Stage.READY)
    soon(lambda: failing.times == 0 and ("job", 1) in told)
    assert sorted(set(told)) == [("job", 0), ("job", 1)]
    assert told[-1] == ("job", 1)
    late: Told = []
    place.over(torn).on("two", lambda entry: keeps(late, entry), after=0)
    torn.torn = False
    soon(lambda: late == [("job", 0), ("job", 1)])


def test_a_hook_may_close_what_it_hangs_on(place: Place, jobs: Jobs) -> None:
    """A hook that closes the engine does not wait for itself."""
    closed = threading.Event()
    own = place.open()
    own.on("last", lambda entry: (own.close(), closed.set()))
    request(jobs)
    assert closed.wait(20)


def test_hooks_come_and_go_while_others_write(place: Place, jobs: Jobs) -> None:
    """Subscribing from one thread disturbs no submission in another."""
    failed: list[BaseException] = []

    def subscribes() -> None:
        try:
            for n in range(12):
                jobs.on(f"h{n}", lambda entry: None)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=subscribes)
    written = 0
    while written == 0 or thread.is_alive():
        request(jobs, f"j{written}")
        written += 1
        if written == 1:
            thread.start()
    thread.join()
    assert len(all_of(jobs)) == written
    assert failed == []


def test_a_new_hook_does_not_read_what_was_there_before(place: Place, jobs: Jobs) -> None:
    """Where the feed ends is found in a few looks, however long it is."""
    jobs.submit_all([(f"j{n}", acts.Request(goal="g", worker="wes"), "ann") for n in range(3 * PAGE + 7)])
    watched = Watched(jobs.store)
    told: Told = []
    hooked = place.over(watched).on("new", lambda entry: keeps(told, entry))
    assert watched.told.count("feed") < 80
    assert hooked.position() == list(jobs.watch())[-1].position
    request(jobs, "new")
    soon(lambda: told == [("new", 0)])


# Watching


def test_watching_ends_when_nothing_new_comes(jobs: Jobs) -> None:
    """By default what is there, at once; with a `wait`, after that long with nothing new."""
    assert list(jobs.watch()) == list(jobs.watch(wait=0.01)) == []
    assert jobs.position() == 0
    at(jobs, Stage.READY)
    whole = list(jobs.watch())
    assert [notice.entry.receipt for notice in whole] == [entry.receipt for entry in jobs.log("job")]
    assert [notice.position for notice in whole] == sorted({notice.position for notice in whole})
    assert list(jobs.watch(after=whole[-1].position)) == []
    assert list(jobs.watch(after=2**62)) == []


def test_a_feed_longer_than_a_page_is_watched_whole(jobs: Jobs) -> None:
    """No notice is lost where one page ends and the next begins."""
    many = 2 * PAGE + 1
    jobs.submit_all([(f"j{n}", acts.Request(goal="g", worker="wes"), "ann") for n in range(many)])
    assert [notice.entry.job for notice in jobs.watch()] == [f"j{n}" for n in range(many)]


def watched(jobs: Jobs, last: str, told: list[Notice], drops: bool) -> None:
    """Watch until a job is there; a reader that drops comes back after every single notice."""
    after = 0
    while not told or told[-1].entry.job != last:
        for notice in islice(jobs.watch(after, wait=20), 1 if drops else None):
            told.append(notice)
            after = notice.position
            if notice.entry.job == last:
                return


@pytest.mark.parametrize("drops", [False, True], ids=["stays", "drops"])
def test_who_watches_while_others_write_misses_nothing(place: Place, jobs: Jobs, drops: bool) -> None:
    """Three threads on three engines write while one watches: every entry once, each job's in order."""
    told: list[Notice] = []
    reader = threading.Thread(target=watched, args=(place.open(), "last", told, drops))
    reader.start()
    writers = [
        threading.Thread(target=lambda n=n: [at(place.open(), Stage.UNVERIFIED, f"w{n}-{i}") for i in range(8)]) for n in range(3)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    request(jobs, "last")
    reader.join(30)
    assert told == list(jobs.watch())
    for n in range(3):
        assert [notice.entry.seq for notice in told if notice.entry.job == f"w{n}-3"] == [0, 1, 2]


def test_two_processes_watch_each_other(shared: Place) -> None:
    """One process writes, the other watches and answers, the first watches for the answers: nothing is missed either way."""
    jobs = shared.open()
    worker = child(
        """
        jobs = lifecycle.open(sys.argv[1], clock=Clock())
        for notice in jobs.watch(wait=30):
            entry = notice.entry
            if entry.job == "stop":
                break
            if entry.act.act == "request":
                jobs.seat(entry.job, "wes").accept()
                jobs.seat(entry.job, "wes").deliver(value=entry.job)
        """,
        shared.url,
    )

    def answers() -> Iterator[str]:
        for notice in jobs.watch(wait=30):
            if notice.entry.act.act == "deliver":
                yield notice.entry.job

    answered = answers()
    for n in range(10):
        request(jobs, f"j{n}")
        assert next(answered) == f"j{n}"
    request(jobs, "stop")
    ended(worker)
    assert [lines(jobs.handle(f"j{n}")) for n in range(10)] == [["request", "accept", "deliver"]] * 10


def test_waiting_wakes_for_what_its_own_engine_writes(jobs: Jobs, clock: Clock) -> None:
    """A watcher that waits for ever hears of the next entry, and of what a sweep makes lapse."""
    heard: list[str] = []

    def hears() -> None:
        for notice in jobs.watch(wait=None):
            heard.append(notice.entry.act.act)
            if notice.entry.act.act == "lapse":
                return

    reader = threading.Thread(target=hears, daemon=True)
    reader.start()
    job = request(jobs)
    soon(lambda: heard == ["request"])
    STEPS["defer"](job.seat)
    soon(lambda: heard == ["request", "defer"])
    clock.ticks(2 * HOUR)
    jobs.sweep()
    reader.join(20)
    assert heard == ["request", "defer", "lapse"]


def test_whoever_watches_from_now_on_is_told_only_what_is_new(jobs: Jobs) -> None:
    request(jobs, "old")
    now = jobs.position()
    request(jobs, "new")
    assert [notice.entry.job for notice in jobs.watch(now)] == ["new"]
