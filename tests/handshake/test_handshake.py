"""The negotiation: the table by a second statement, a gallery of executors, and guards that lose nothing."""

import itertools
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import lifecycle
from lifecycle import Reason, Refused
from lifecycle.handshake import (
    Ack,
    Acks,
    AsyncCalls,
    Batches,
    Calls,
    Checkpoint,
    KeyConflict,
    Ledger,
    Negotiated,
    Record,
    RemoteError,
    Sequenced,
    Unacknowledged,
    Unreconciled,
    Workload,
    negotiate,
    negotiate_until,
    probe,
    rank,
    reconcile,
    traffic,
)
from lifecycle.law import acts
from lifecycle.law.capability import Advertisement, Clause, Guard, Invariant, Probe, Requirement
from lifecycle.worker import Desk, Local, Pipe
from lifecycle.worker.records import WorkerRemote
from lifecycle.worker.serving import Job

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = 100
ATOMIC = Clause("atomicity", "all_or_nothing", {"batch": 512})
ORDER = ["accept", "probe_first", "accept_with_guard", "accept_unverified", "refuse"]


def batch(count: int) -> list[Record]:
    return [Record(f"r{n}", f"record {n}") for n in range(count)]


WORK = Workload(512, batch, lambda one: Record(one.id, "x" * (LIMIT + 1)))


class Executor:
    """An honest executor in memory; the others are this one with one fault."""

    limit, written = LIMIT, 0

    def __init__(self) -> None:
        self.spaces: dict[str, list[Record]] = {}
        self.keys: dict[str, tuple[tuple[Record, ...], Ack]] = {}

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        self.written += len(records)
        if key and key in self.keys:
            held, ack = self.keys[key]
            return ack if held == tuple(records) else Ack("conflict")
        if any(len(one.data) > self.limit for one in records):
            return Ack("refused")
        self.spaces.setdefault(space, []).extend(records)
        ack = Ack("ok", tuple(one.id for one in records), f"receipt {len(self.keys)}")
        if key:
            self.keys[key] = tuple(records), ack
        return ack

    def read(self, space: str) -> Sequence[Record]:
        return list(self.spaces.get(space, ()))


class UpTo100(Executor):
    """Atomic only up to 100 records."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        for start in range(0, len(records), 100):
            if (ack := super().write(space, records[start : start + 100])).status != "ok":
                return ack
        return Ack("ok", tuple(one.id for one in records))


class Truncates(Executor):
    """It stores the first 256 and says ok."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        return super().write(space, records[:256], key)


class BestEffort(Executor):
    """Whatever can be stored is stored, and it says partial."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        good = [one for one in records if len(one.data) <= self.limit]
        ack = super().write(space, good, key)
        return ack if len(good) == len(records) else Ack("partial", ack.stored)


class Forgetful(Executor):
    """It forgets keys."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        return super().write(space, records)


class Reorders(Executor):
    """What comes again is moved to the front."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        again = key in self.keys
        ack = super().write(space, records, key)
        if again:
            self.spaces[space].insert(0, records[0])
        return ack


class ForAMinute(Executor):
    """It remembers a key for a minute, by its own clock."""

    now = 0.0

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        if key and self.now - self.told.get(key, self.now) > 60:
            del self.keys[key]
        self.told[key] = self.told.get(key, self.now) if key in self.keys else self.now
        return super().write(space, records, key)

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, float] = {}


class SmellsProbes(BestEffort):
    """It behaves where it smells a probe: a few records, or a space with a telling name."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        if len(records) < 10 or "probe" in space or "test" in space:
            return Executor.write(self, space, records, key)
        return super().write(space, records, key)


class Shut(Executor):
    """It cannot be asked."""

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        raise RemoteError("no route")


def needed(invariant: Invariant, **more: object) -> Requirement:
    values = {"atomicity": "all_or_nothing", "idempotency": "keyed", "ordering": "fifo", "bound": "batch", "read_only": "read_only"}
    return Requirement("need", invariant, values[invariant], **more)


# Probes


@pytest.mark.parametrize(
    ("executor", "invariant", "outcome"),
    [
        *((Executor, one, "passed") for one in ("atomicity", "idempotency", "ordering", "bound")),
        (Executor, "read_only", "failed"),
        (UpTo100, "atomicity", "failed"),
        (Truncates, "atomicity", "failed"),
        (Truncates, "ordering", "failed"),
        (Truncates, "bound", "failed"),
        (BestEffort, "atomicity", "failed"),
        (Forgetful, "idempotency", "failed"),
        (Reorders, "ordering", "failed"),
        (ForAMinute, "idempotency", "passed"),
        (SmellsProbes, "atomicity", "failed"),
        *((Shut, one, "inconclusive") for one in ("atomicity", "idempotency", "ordering", "read_only")),
        (Shut, "bound", "failed"),
    ],
)
def test_the_gallery_of_executors(executor: type[Executor], invariant: Invariant, outcome: str) -> None:
    remote = executor()
    seen = probe(invariant, remote, WORK, None, NOW)
    assert (seen.outcome, bool(seen.seen)) == (outcome, True), seen
    assert remote.written <= traffic(invariant, WORK.size)


def test_a_retry_at_once_proves_nothing_of_one_an_hour_later(tmp_path: Path) -> None:
    """The probe's pass has no seconds in its envelope, so a requirement that names some is covered by the caller's own ledger."""
    at_once, later = needed("idempotency"), needed("idempotency", upto={"seconds": 3600}, irreversible=True)
    assert negotiate([at_once], None, remote=ForAMinute(), work=WORK).outcome == "accept"
    assert negotiate([later], None, remote=ForAMinute(), work=WORK, guard=False).outcome == "refuse"
    found = negotiate([later], None, remote=ForAMinute(), work=WORK)
    assert (found.outcome, found.guards["need"].kind) == ("accept_with_guard", "ledger")
    remote = ForAMinute()
    ledger = Ledger(remote, tmp_path / "ledger.db")
    ledger.write("s", batch(1), "k")
    remote.now += 3600
    ledger.write("s", batch(1), "k")
    assert remote.read("s") == batch(1)
    remote.write("s", batch(1), "k")
    assert len(remote.read("s")) == 2  # what it does when it is left to itself


class Faulty:
    """A remote whose calls fail at random: before they reach it, or with the answer lost."""

    def __init__(self, remote: Executor, lot: random.Random) -> None:
        self.remote, self.lot = remote, lot

    def write(self, space: str, records: Sequence[Record], key: str = "") -> Ack:
        if self.lot.random() < 0.2:
            raise RemoteError("no route")
        ack = self.remote.write(space, records, key)
        if self.lot.random() < 0.2:
            raise RemoteError("the answer was lost")
        return ack

    def read(self, space: str) -> Sequence[Record]:
        if self.lot.random() < 0.1:
            raise RemoteError("no route")
        return self.remote.read(space)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "executor",
    [Executor, UpTo100, Truncates, BestEffort, Forgetful, Reorders, ForAMinute, SmellsProbes],
    ids=lambda kind: kind.__name__,
)
def test_whoever_the_executor_is_nothing_the_checkpoint_has_passed_is_missing(
    executor: type[Executor], seed: int, tmp_path: Path
) -> None:
    """Negotiated, then 512 records of which one is too large, under faults and with a restart after each."""
    lot, remote = random.Random(seed), executor()
    wanted = [needed("atomicity", upto={"batch": 512}, irreversible=True)]
    found = negotiate(wanted, Advertisement("write_transactional", "1"), remote=remote, work=WORK)
    assert found.grounded and found.outcome == ("accept" if executor in KEEP_IT else "accept_with_guard")
    size = 512 if found.outcome == "accept" else int(found.guards["need"].parameters["batch"])  # type: ignore[index, call-overload, arg-type]
    stream = [*batch(400), Record("r400", "x" * (LIMIT + 1)), *batch(512)[401:]]
    ended, tries = False, 0
    while not ended and tries < 2_000:
        tries += 1
        try:
            reconcile(Faulty(remote, lot), "s", stream, Checkpoint(tmp_path / "c.db"), size)
        except Unreconciled as stuck:
            ended = stuck.position == 400 and size == 1 and Checkpoint(tmp_path / "c.db").at("s") == 400
            ended |= size == 512 and tries > 50
        except RemoteError:
            continue
        at = Checkpoint(tmp_path / "c.db").at("s")
        assert set(stream[:at]) <= set(remote.read("s"))
    assert Checkpoint(tmp_path / "c.db").at("s") == (400 if size == 1 else 0)


KEEP_IT = {Executor, Forgetful, Reorders, ForAMinute}
"""Those that are atomic at the planned size, whatever else they are."""


def test_a_small_probe_is_passed_where_the_planned_one_fails() -> None:
    assert probe("atomicity", UpTo100(), Workload(3, batch, WORK.poison), None, NOW).outcome == "passed"
    assert probe("bound", Truncates(), WORK, None, NOW).upto["batch"] == 256


def test_without_a_poison_record_atomicity_is_not_told() -> None:
    assert probe("atomicity", Executor(), Workload(8, batch), None, NOW).outcome == "inconclusive"
    never = Workload(8, batch, lambda one: one)
    assert probe("atomicity", Executor(), never, None, NOW).outcome == "inconclusive"


# The table, stated a second time


def stated(advert: str, tried: str, guarded: bool, irreversible: bool) -> str:
    bad = advert == "contradicted" or tried == "failed"
    if not bad and (advert == "entailed" or tried == "passed"):
        return "accept"
    if not bad and tried == "not_run":
        return "probe_first"
    if guarded:
        return "accept_with_guard"
    return "refuse" if bad or irreversible else "accept_unverified"


ADVERTS = {"entailed": (ATOMIC,), "silent": (), "contradicted": (Clause("atomicity", "best_effort"),)}
TRIED = ["none", "not_run", "inconclusive", "passed", "failed"]
CASES = list(itertools.product(ADVERTS, TRIED, (False, True), (False, True)))


def decided(advert: str, tried: str, guarded: bool, irreversible: bool) -> str:
    said = Advertisement("write_transactional", clauses=ADVERTS[advert])
    evidence = None if tried == "none" else Probe(tried, said.digest, {"batch": 512})
    guard = Guard("reconciliation", guarded) if guarded else None
    wanted = needed("atomicity", upto={"batch": 512}, irreversible=irreversible, probe=evidence, guard=guard)
    return negotiate([wanted], said, guard=False, now=NOW).outcome


@pytest.mark.parametrize(("advert", "tried", "guarded", "irreversible"), CASES)
def test_all_sixty_combinations(advert: str, tried: str, guarded: bool, irreversible: bool) -> None:
    assert decided(advert, tried, guarded, irreversible) == stated(advert, tried, guarded, irreversible)


def test_the_table_is_monotone() -> None:
    for advert, tried, guarded, irreversible in CASES:
        here = ORDER.index(decided(advert, tried, guarded, irreversible))
        assert here >= ORDER.index(decided("entailed", tried, guarded, irreversible))
        assert irreversible is False or here >= ORDER.index(decided(advert, tried, guarded, False))
        assert guarded is False or here <= ORDER.index(decided(advert, tried, False, irreversible))
        assert tried != "failed" or here >= ORDER.index(decided(advert, "passed", guarded, irreversible))


# The negotiation


@pytest.mark.parametrize(
    ("executor", "guard", "outcome", "advances"),
    [
        (Executor, False, "accept", True),
        (BestEffort, False, "refuse", False),
        (BestEffort, True, "accept_with_guard", True),
        (UpTo100, True, "accept_with_guard", True),
        (Shut, False, "refuse", False),
    ],
)
def test_what_is_not_advertised_is_probed_and_then_guarded(
    executor: type[Executor], guard: bool, outcome: str, advances: bool
) -> None:
    found = negotiate([needed("atomicity", upto={"batch": 512})], None, remote=executor(), work=WORK, guard=guard, now=NOW)
    assert (found.outcome, found.checkpoint_may_advance) == (outcome, advances), found.text
    assert bool(found.guards) == (outcome == "accept_with_guard")
    assert [one.requirement for one in found.unverified] == ([] if found.grounded else ["need"])
    assert found.grounded or all(one.why and one.fix for one in found.unverified)


def test_one_refusal_refuses_all_and_an_unverified_accept_moves_no_checkpoint() -> None:
    two = [Requirement("a", "ordering", "fifo", irreversible=False), Requirement("b", "atomicity", "all_or_nothing")]
    assert negotiate(two, None, now=NOW).outcome == "refuse"
    loose = negotiate(two[:1], None, now=NOW, guard=False)
    assert (loose.outcome, loose.grounded, loose.checkpoint_may_advance) == ("accept_unverified", True, False)
    assert negotiate([], None, now=NOW).outcome == "accept"


def test_it_goes_on_when_a_stronger_advertisement_arrives_and_ends() -> None:
    wanted = [needed("atomicity", upto={"batch": 512})]
    weak, strong = Advertisement("w", "1"), Advertisement("w", "2", clauses=(ATOMIC,))
    assert negotiate_until(wanted, [weak, weak, strong], guard=False).outcome == "accept"
    assert negotiate_until(wanted, itertools.repeat(weak), guard=False).outcome == "refuse"
    assert negotiate_until(wanted, [], guard=False).outcome == "refuse"


def test_an_explicit_clause_is_preferred_to_a_bare_name_whatever_the_order() -> None:
    wanted = [needed("atomicity", upto={"batch": 100})]
    bare, cheap = Advertisement("write_transactional"), Advertisement("w", clauses=(Clause("atomicity", "best_effort"),))
    explicit = Advertisement("plain", clauses=(ATOMIC,))
    assert rank([cheap, bare, explicit], wanted, NOW) == [explicit, bare, cheap]


@pytest.mark.parametrize("change", ["larger", "other", "expired"])
def test_a_pass_never_outlives_its_envelope(change: str) -> None:
    said = Advertisement("w", "1")
    seen = probe("atomicity", Executor(), WORK, said, NOW)
    upto = {"batch": 512, "bytes": WORK.bytes}
    asked = needed("atomicity", upto={**upto, "batch": 513} if change == "larger" else upto, probe=seen)
    later = NOW + timedelta(hours=2 if change == "expired" else 0)
    other = Advertisement("w", "2") if change == "other" else said
    assert negotiate([asked], other, guard=False, now=later).outcome == "probe_first"
    assert negotiate([needed("atomicity", upto=upto, probe=seen)], said, guard=False, now=NOW).outcome == "accept"


# Guards


def test_reconciliation_stops_before_what_is_not_there_and_goes_on_from_there(tmp_path: Path) -> None:
    remote, checkpoint = BestEffort(), Checkpoint(tmp_path / "c.db")
    records = batch(50)
    spoiled = [*records[:20], Record("r20", "x" * (LIMIT + 1)), *records[21:]]
    with pytest.raises(Unreconciled) as caught:
        reconcile(remote, "s", spoiled, checkpoint, 8)
    assert (caught.value.position, caught.value.record, checkpoint.at("s")) == (20, "r20", 20)
    assert reconcile(remote, "s", records, Checkpoint(tmp_path / "c.db"), 8) == 50
    assert sorted(remote.read("s"), key=lambda one: int(one.id[1:])) == records
    checkpoint.advance("s", 3)
    assert checkpoint.at("s") == 50


def test_one_key_is_one_effect_whatever_the_remote_makes_of_keys(tmp_path: Path) -> None:
    remote = Forgetful()
    for _ in range(3):
        assert Ledger(remote, tmp_path / "l.db").write("s", batch(2), "k").status == "ok"
    assert list(remote.read("s")) == batch(2)
    with pytest.raises(KeyConflict, match="stands for another"):
        Ledger(remote, tmp_path / "l.db").write("s", batch(3), "k")
    with pytest.raises(KeyConflict, match="without a key"):
        Ledger(remote, tmp_path / "l.db").write("s", batch(3))


def test_what_a_lost_answer_left_open_is_read_back_before_it_is_written_again(tmp_path: Path) -> None:
    remote = Forgetful()

    def lost(space: str, records: Sequence[Record], key: str) -> Ack:
        remote.write(space, records, key)
        raise RemoteError("the connection ended")

    with pytest.raises(RemoteError):
        Ledger(Calls(lost, remote.read), tmp_path / "l.db").write("s", batch(2), "k")
    assert Ledger(remote, tmp_path / "l.db").write("s", batch(2), "k").status == "ok"
    assert list(remote.read("s")) == batch(2)


def test_batches_stay_in_the_envelope_and_acks_are_taken_by_name() -> None:
    remote = Truncates()
    assert Batches(remote, 256).write("s", batch(512)).status == "ok"
    assert list(Batches(remote, 256).read("s")) == batch(512)
    assert Batches(BestEffort(), 1).write("s", [*batch(2), Record("b", "x" * 101), *batch(1)]).stored == ("r0", "r1")
    with pytest.raises(Unacknowledged) as caught:
        Acks(Truncates()).write("t", batch(512))
    assert caught.value.missing[0] == "r256"
    with pytest.raises(ValueError, match="batch of 0"):
        Batches(remote, 0)


def test_one_in_flight_is_read_back_before_the_next() -> None:
    assert Sequenced(Executor()).write("s", batch(5)).status == "ok"
    with pytest.raises(Unreconciled, match="record 1 "):
        Sequenced(BestEffort()).write("s", [batch(1)[0], Record("b", "x" * 101)])


def test_a_coroutine_is_a_remote_too() -> None:
    inner = Executor()

    async def write(space: str, records: Sequence[Record], key: str) -> Ack:
        return inner.write(space, records, key)

    async def read(space: str) -> Sequence[Record]:
        return inner.read(space)

    assert probe("idempotency", AsyncCalls(write, read), WORK, None, NOW).outcome == "passed"


# The verb


def test_the_verb_decides_by_exit_code(tmp_path: Path) -> None:
    weak, strong, need, bad = (tmp_path / name for name in ("weak", "strong", "need", "bad"))
    weak.write_text('{"name": "w"}')
    strong.write_text('{"name": "w", "clauses": [{"invariant": "atomicity", "value": "all_or_nothing"}]}')
    need.write_text('{"id": "n", "invariant": "atomicity", "value": "all_or_nothing"}')
    bad.write_text('{"id": "n", "invariant": "speed", "value": "x"}')

    def verb(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lifecycle.cli", "negotiate", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert (verb(strong, need).returncode, verb(weak, need).returncode, verb(weak, bad).returncode) == (0, 1, 2)
    told = json.loads(verb(weak, need, "--json").stdout)
    assert told["outcome"] == "refuse" and told["groundings"][0]["fix"]
    assert "refuse" in verb(weak, need, "--probe", "http://127.0.0.1:9").stdout


# A worker of the seven exchanges


def storing(executor: Executor) -> Job:
    """The work of a worker that stores records."""

    def work(desk: Desk) -> object:
        asked = json.loads(desk.task.goal)
        if "read" in asked:
            return [[one.id, one.data] for one in executor.read(asked["read"]["space"])]
        told = asked["write"]
        ack = executor.write(told["space"], [Record(id, data) for id, data in told["records"]], told["key"])
        return {"status": ack.status, "stored": list(ack.stored), "receipt": ack.receipt}

    return work  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("executor", "invariant", "outcome"),
    [
        (Executor, "atomicity", "passed"),
        (Executor, "idempotency", "passed"),
        (BestEffort, "atomicity", "failed"),
        (Truncates, "bound", "failed"),
    ],
)
def test_a_worker_is_a_remote_and_cannot_tell_a_probe_from_work(
    executor: type[Executor], invariant: Invariant, outcome: str
) -> None:
    assert probe(invariant, WorkerRemote(Local(storing(executor()))), WORK, None, NOW).outcome == outcome


def test_a_worker_in_a_process_of_its_own_is_probed_over_the_pipe(tmp_path: Path) -> None:
    program = "from tests.handshake.test_handshake import *; from lifecycle.worker import serve; serve(storing(BestEffort()))"
    worker = Pipe([sys.executable, "-c", program], environment={"PYTHONPATH": ":".join(sys.path)})
    try:
        found = negotiate([needed("atomicity", irreversible=True)], None, remote=WorkerRemote(worker), work=WORK)
    finally:
        worker.close()
    assert (found.outcome, found.requirements[0].probe.outcome) == ("accept_with_guard", "failed")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "worker",
    [
        Local(lambda desk: 1, lambda task: acts.Decline(reason="no")),
        Local(lambda desk: 1),
        Local(lambda desk: 1 / 0),
    ],
    ids=["declines", "answers something else", "fails"],
)
def test_a_worker_that_does_not_store_records_is_inconclusive(worker: Local) -> None:
    remote = WorkerRemote(worker)
    assert probe("atomicity", remote, WORK, None, NOW).outcome == "inconclusive"
    with pytest.raises(RemoteError, match="to mend it"):
        remote.read("s")


# In the life of a job


def requested(jobs: lifecycle.Jobs, found: Negotiated) -> lifecycle.Handle:
    """A job on what was negotiated."""
    return jobs.request("store them", requester="ann", worker="wes", requirements=found.requirements, verdict=True, id="j")


def test_a_worker_whose_handshake_was_refused_cannot_accept_until_it_advertises_more() -> None:
    with lifecycle.open("memory:") as jobs:
        found = negotiate([needed("atomicity", upto={"batch": 512})], None, remote=BestEffort(), work=WORK, guard=False)
        assert found.outcome == "refuse"
        job = requested(jobs, found)
        assert job.job.terms.requirements[0].probe == found.requirements[0].probe  # the outcome is kept with the job
        with pytest.raises(Refused) as caught:
            job.seat("wes").accept()
        assert caught.value.reason is Reason.UNGROUNDED and "disproved" in str(caught.value)
        revised = negotiate([needed("atomicity", upto={"batch": 512})], Advertisement("w", "2", clauses=(ATOMIC,)))
        job.seat("wes").counter("I have learnt it", job.job.terms)
        job.seat("ann").revise(requirements=revised.requirements)
        assert job.seat("wes").accept(advertisement=Advertisement("w", "2", clauses=(ATOMIC,))).stage == "accepted.ready"


def test_with_a_guard_no_verdict_passes_before_the_delivery_is_reconciled(tmp_path: Path) -> None:
    with lifecycle.open("memory:") as jobs:
        found = negotiate([needed("atomicity", upto={"batch": 512})], None, remote=BestEffort(), work=WORK)
        job, remote = requested(jobs, found), BestEffort()
        job.seat("wes").accept()
        job.seat("wes").deliver(value="stored")
        with pytest.raises(Refused) as caught:
            job.seat("ann").confirm("it says so")
        assert caught.value.reason is Reason.CHECK_NOT_PASSED
        at = reconcile(remote, "s", batch(512), Checkpoint(tmp_path / "c.db"), 1)
        job.seat("ann").confirm("read back", checks=[acts.CheckRecord("need", "passed", f"{at} of 512 records read back")])
        assert str(job.termination) == "accepted / passed"
