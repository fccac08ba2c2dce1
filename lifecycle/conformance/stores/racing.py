"""What every store must hold while many threads are at it: one of two wins, none is lost, nobody sees a half."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lifecycle.conformance.stores.logs import StoreCase, begun, everything, head, then
from lifecycle.law.errors import Conflict
from lifecycle.law.log import Change, Entry, Head

THREADS = 8
ROUNDS = 25
SWITCH = 1e-5
"""Seconds a thread runs before another may: five hundred times as often as usual, so that what can come between does."""

T = TypeVar("T")


def together(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """What each of many threads returned, all begun at one moment and switched often; whatever one of them raised is raised."""
    begin = threading.Barrier(threads)
    usual = sys.getswitchinterval()

    def one(number: int) -> T:
        begin.wait()
        return work(number)

    sys.setswitchinterval(SWITCH)
    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, range(threads)))
    finally:
        sys.setswitchinterval(usual)


class Racing(StoreCase):
    """Threads: on one job, on many, reading while others write."""

    def test_of_many_writers_on_one_head_exactly_one_wins(self) -> None:
        change = begun("j")
        self.store.append([change])
        for round in range(ROUNDS):
            offers = [then(change, ids=(f"{round}-{number}",)) for number in range(THREADS)]

            def offer(number: int, offers: list[Change] = offers) -> Change | None:
                try:
                    self.store.append([offers[number]])
                except Conflict:
                    return None
                return offers[number]

            won = [offered for offered in together(offer) if offered is not None]
            assert len(won) == 1
            change = won[0]
        found = self.store.read("j")
        assert found is not None
        assert found[0] == head(change)
        assert [entry.seq for entry in found[1]] == list(range(ROUNDS + 1))

    def test_writers_of_many_jobs_lose_nothing_and_the_feed_has_no_hole(self) -> None:
        seen: list[tuple[int, Entry]] = []
        written = threading.Event()
        store = self.store

        def watch() -> None:
            after = 0
            while True:
                last_look = written.is_set()
                page = store.feed(after, 7)
                seen.extend(page)
                after = page[-1][0] if page else after
                if last_look and not page:
                    return

        def write(number: int) -> list[Change]:
            made = [begun(f"j{number}")]
            store.append(made)
            for n in range(ROUNDS):
                made.append(then(made[-1], *["step"] * (1 + n % 3)))
                store.append([made[-1]])
            return made

        with ThreadPoolExecutor(1) as watcher:
            watching = watcher.submit(watch)
            try:
                logs = together(write)
            finally:
                written.set()
            watching.result()
        positions = [position for position, _ in seen]
        assert positions == sorted(set(positions))
        for number, log in enumerate(logs):
            told = [(entry.seq, entry.hash) for _, entry in seen if entry.job == f"j{number}"]
            assert told == [(entry.seq, entry.hash) for change in log for entry in change.entries]
        assert len(seen) == len(store.feed(0, 10_000))

    def test_a_reader_sees_a_head_and_its_entries_at_one_moment(self) -> None:
        self.store.append([begun("j")])
        written = threading.Event()
        store = self.store

        def write() -> None:
            change = begun("j")
            try:
                for _ in range(ROUNDS * 4):
                    change = then(change, "one", "two")
                    store.append([change])
            finally:
                written.set()

        def read() -> None:
            looks = after = 0
            while not written.is_set():
                found = store.read("j", after - 1)
                assert found is not None
                stands, entries = found
                assert [entry.seq for entry in entries] == list(range(after, stands.seq + 1))
                assert not entries or entries[-1].hash == stands.hash
                after = max(0, stands.seq - looks % 5)
                looks += 1

        together(lambda number: read() if number else write(), 4)

    def test_children_made_at_once_are_all_counted(self) -> None:
        parent = begun("parent")
        self.store.append([parent])

        def delegate(number: int) -> None:
            for n in range(ROUNDS):
                while True:
                    found = self.store.read("parent", 0)
                    assert found is not None
                    try:
                        self.store.append([begun(f"{number}-{n}", parent="parent")], [("parent", found[0])])
                    except Conflict:
                        continue
                    break

        together(delegate, 4)
        found = self.store.read("parent")
        assert found is not None
        assert found[0] == head(parent, children=4 * ROUNDS)

    def test_a_shelf_counts_right_under_many_hands(self) -> None:
        store = self.store

        def count(_: int) -> None:
            for _ in range(ROUNDS):
                while True:
                    was = store.shelf("shelf").get("count")
                    if store.put("shelf", "count", str(int(was or 0) + 1), was):
                        break

        together(count, 4)
        assert store.shelf("shelf") == {"count": str(4 * ROUNDS)}

    def test_a_second_opening_of_the_store_races_as_any_other(self) -> None:
        stores = [self.store, self.another(), self.another()]
        self.store.append([begun("j")])

        def act(number: int) -> int:
            mine, lost = 0, 0
            change: Change | None = None
            while mine < ROUNDS:
                found = stores[number].read("j")
                assert found is not None
                change = _after(found[0], found[1][-1], f"{number}-{mine}")
                try:
                    stores[number].append([change])
                    mine += 1
                except Conflict:
                    lost += 1
            return lost

        together(act, len(stores))
        found = self.store.read("j")
        assert found is not None
        assert [entry.seq for entry in found[1]] == list(range(len(stores) * ROUNDS + 1))
        assert len({entry.id for entry in found[1]}) == len(found[1])
        assert everything(stores[1]) == everything(stores[2])


def _after(stands: Head, last: Entry, id: str) -> Change:
    """The next change of a job, from its last entry."""
    return then(Change(stands, (last,), begun(last.job).row), ids=(id,))
