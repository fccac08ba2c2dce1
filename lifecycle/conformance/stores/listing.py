"""What every store must show beside the logs: rows, due times, renewals, refusals, shelves, the feed, and all rows made anew."""

from collections.abc import Sequence
from datetime import timedelta

from attrs import evolve

from lifecycle.conformance.stores.keeping import conflict, told
from lifecycle.conformance.stores.logs import NOON, POISON, StoreCase, begun, everything, head, listed, then
from lifecycle.law.errors import Conflict, KeptRefusal, Reason, Refusal
from lifecycle.law.log import Change, Entry, Query, Row
from lifecycle.law.states import OPEN, Stage

HOUR = timedelta(hours=1)


def refused(job: str, n: int, payload: str = "{}", detail: str = "it ended") -> KeptRefusal:
    """The n-th refusal of a job."""
    refusal = Refusal(Reason.CLOSED, "deliver", job, "bob", Stage.STOPPED, ("halt", "renew"), detail, "ask anew", "guard")
    return KeptRefusal(refusal, NOON + timedelta(microseconds=n), payload)


class Listing(StoreCase):
    """Everything that is not a log."""

    # ---- rows

    def test_a_row_shows_what_it_was_given(self) -> None:
        new = begun("j", parent="p", due=NOON + HOUR, at=NOON + timedelta(microseconds=1))
        self.store.append([new])
        assert self.store.find(Query()) == [new.row]
        more = then(new, stage=Stage.BLOCKED, due=NOON)
        self.store.append([more])
        assert self.another().find(Query()) == [more.row]
        self.store.append([Change(head(more), then(more).entries, evolve(more.row, goal="another goal"))])
        assert self.store.find(Query())[0].goal == "another goal"

    def test_every_filter_given_must_hold(self) -> None:
        changes = [
            begun("a", requester="ann", worker="bob"),
            begun("b", requester="ann", worker="cy", parent="a"),
            begun("c", requester="dee", worker="bob", parent="a"),
            begun("d", requester="dee", worker="cy", parent="c"),
        ]
        self.store.append(changes)
        self.store.append([then(changes[0], stage=Stage.WORKING, children=2), then(changes[3], stage=Stage.ERROR)])
        wanted = {
            Query(): "abcd",
            Query(requester="ann"): "ab",
            Query(worker="bob"): "ac",
            Query(requester="ann", worker="cy"): "b",
            Query(parent="a"): "bc",
            Query(parent="a", worker="bob"): "c",
            Query(stages=frozenset({Stage.REQUESTED})): "bc",
            Query(stages=frozenset({Stage.ERROR, Stage.WORKING})): "ad",
            Query(stages=OPEN): "abc",
            Query(stages=OPEN, requester="dee"): "c",
            Query(stages=frozenset({Stage.ERROR}), worker="cy"): "d",
            Query(stages=frozenset({Stage.ERROR, Stage.REQUESTED}), worker="cy"): "bd",
            Query(stages=frozenset({Stage.ERROR}), parent="a"): "",
            Query(stages=frozenset()): "",
            Query(stages=frozenset(), worker="cy"): "",
            Query(stages=frozenset(), parent="a"): "",
            Query(stages=frozenset(), due_by=NOON): "",
            Query(requester="nobody"): "",
            Query(requester="ann' OR '1'='1"): "",
        }
        for query, names in wanted.items():
            assert "".join(row.job for row in self.store.find(query)) == names, query

    def test_pages_follow_each_other_in_the_order_in_which_jobs_were_made(self) -> None:
        names = [f"{n * 7 % 20:02}" for n in range(20)]
        for n, name in enumerate(names):
            self.store.append([begun(name, worker=f"w{n % 2}")])
        for name in names[::3]:
            self.store.append([then(begun(name, worker=f"w{names.index(name) % 2}"), stage=Stage.ERROR)])
        assert [row.job for row in self.store.find(Query())] == names
        assert self.pages(Query(limit=7)) == names
        assert self.pages(Query(limit=1, worker="w1")) == names[1::2]
        assert self.pages(Query(limit=4, stages=frozenset({Stage.ERROR, Stage.REQUESTED}))) == names
        assert self.pages(Query(limit=2, stages=OPEN)) == [name for n, name in enumerate(names) if n % 3]
        assert self.store.find(Query(limit=0)) == self.store.find(Query(limit=-1)) == []
        assert self.store.find(Query(after=names[-1])) == []
        assert self.store.find(Query(after="nobody")) == []

    # ---- due times

    def test_what_is_due_comes_in_order_of_its_due_time(self) -> None:
        times = {"a": 3, "b": 1, "c": 2, "d": None, "e": 5}
        self.store.append([begun(job, due=NOON + h * HOUR if h is not None else None) for job, h in times.items()])
        assert [row.job for row in self.store.find(Query(due_by=NOON + 3 * HOUR))] == ["b", "c", "a"]
        assert [row.job for row in self.store.find(Query(due_by=NOON + 3 * HOUR, limit=2))] == ["b", "c"]
        assert [row.job for row in self.store.find(Query(due_by=NOON + HOUR, worker="bob"))] == ["b"]
        assert self.store.find(Query(due_by=NOON + HOUR - timedelta(microseconds=1))) == []
        assert self.store.find(Query(due_by=NOON + 9 * HOUR, stages=frozenset({Stage.ERROR}))) == []

    def test_a_due_time_is_never_shown_later_than_it_is(self) -> None:
        change = begun("j", due=NOON + 5 * HOUR)
        self.store.append([change])
        for hours in (7, 3, 9, 1, 30, 0, 2, 8):
            due = NOON + hours * HOUR
            change = then(change, due=due, at=change.row.updated_at + timedelta(minutes=20))
            self.store.append([change])
            for store in (self.store, self.another()):
                assert [row.job for row in store.find(Query(due_by=due))] == ["j"], hours
                (row,) = store.find(Query())
                assert row.due is not None and row.due <= due

    def test_a_due_time_that_is_marked_is_shown_as_marked(self) -> None:
        new = begun("j", due=NOON + HOUR)
        self.store.append([new])
        for due in (NOON + 9 * HOUR, None, NOON, NOON + HOUR):
            self.store.mark("j", head(new), None, due)
            assert [row.due for row in self.another().find(Query())] == [due]
            assert len(self.store.find(Query(due_by=NOON + 9 * HOUR))) == (due is not None)

    # ---- renewals

    def test_a_renewal_is_kept_in_the_head_and_leaves_no_entry(self) -> None:
        new = begun("j")
        self.store.append([new])
        self.clock.forward(minutes=5)
        self.store.mark("j", head(new), self.clock.now, None)
        found = self.another().read("j")
        assert found is not None
        assert found[0] == head(new, renewed_at=self.clock.now)
        assert len(found[1]) == len(self.store.feed()) == 1
        conflict(self.store, [then(new)])
        self.store.append([then(new, renewed_at=self.clock.now)])
        found = self.store.read("j")
        assert found is not None and found[0].renewed_at == self.clock.now

    def test_a_mark_on_another_head_is_a_conflict_and_changes_nothing(self) -> None:
        new = begun("j", due=NOON + HOUR)
        more = then(new, due=NOON + HOUR)
        self.store.append([new])
        self.store.append([more])
        before, rows = everything(self.store), self.store.find(Query())
        for job, given in (("j", head(new)), ("j", head(more, children=1)), ("j", head(more, renewed_at=NOON)), ("k", head(new))):
            try:
                self.store.mark(job, given, NOON, NOON)
            except Conflict as error:
                assert error.job == job
            else:
                raise AssertionError("what should have been a Conflict was kept")
        assert (everything(self.store), self.store.find(Query())) == (before, rows)

    def test_renewals_are_kept_since_the_store_was_made(self) -> None:
        made = self.store.renewals_since()
        assert made == NOON
        self.clock.forward(hours=3)
        assert self.store.renewals_since() == self.another().renewals_since() == made

    # ---- refusals and shelves

    def test_refusals_are_kept_whole_oldest_first_up_to_a_cap(self) -> None:
        self.store.append([begun("j"), begun("k")])
        for n in range(5):
            self.store.keep_refusal(refused("j", n), 3)
        self.store.keep_refusal(refused("k", 9), 1)
        assert list(self.another().refusals("j")) == [refused("j", n) for n in range(3)]
        self.store.keep_refusal(refused("j", 7), None)
        self.store.keep_refusal(refused("j", 8), 4)
        assert list(self.another().refusals("j")) == [refused("j", n) for n in (0, 1, 2, 7)]
        assert list(self.store.refusals("k")) == [refused("k", 9)]
        assert list(self.store.refusals("nobody")) == []

    def test_a_refusal_keeps_whatever_text_was_refused(self) -> None:
        self.store.append([begun("j")])
        texts = (*POISON, "nul \x00 inside", "lone \ud800 surrogate", "")
        for n, text in enumerate(texts):
            self.store.keep_refusal(refused("j", n, text, text), None)
        assert [kept.payload for kept in self.another().refusals("j")] == list(texts)
        assert [kept.refusal.detail for kept in self.store.refusals("j")] == list(texts)

    def test_a_shelf_is_set_only_where_it_is_as_it_was_said_to_be(self) -> None:
        # the text, what it was said to be, whether it was, what it is then
        steps: list[tuple[str | None, str | None, bool, str | None]] = [
            (None, "x", False, None),
            (None, None, True, None),
            ("a", "x", False, None),
            ("a", None, True, "a"),
            ("b", None, False, "a"),
            ("b", "x", False, "a"),
            ("b", "a", True, "b"),
            ("b", "b", True, "b"),
            (None, None, False, "b"),
            (None, "b", True, None),
            ("", None, True, ""),
            ("c", None, False, ""),
        ]
        for text, was, done, now in steps:
            assert self.store.put("shelf", "key", text, was) is done, (text, was)
            for store in (self.store, self.another()):
                assert store.shelf("shelf") == ({"key": now} if now is not None else {}), (text, was)

    def test_shelves_are_apart_and_keep_any_text(self) -> None:
        for n, text in enumerate(POISON):
            assert self.store.put("one", f"{n} {text[:50]}", text, None)
        assert self.store.put("two", "key", "text", None)
        assert self.another().shelf("one") == {f"{n} {text[:50]}": text for n, text in enumerate(POISON)}
        assert self.store.shelf("two") == {"key": "text"}
        assert self.store.shelf("three") == {}

    # ---- the feed

    def test_the_feed_gives_every_entry_once_in_an_order_that_each_log_has(self) -> None:
        a, b = begun("a"), begun("b")
        more = then(a, "one", "two")
        for changes in ([a, b], [then(b), more], [begun("c")], [then(more)]):
            self.store.append(changes)
        feed = self.store.feed()
        positions = [position for position, _ in feed]
        assert positions == sorted(set(positions)) and positions[0] > 0
        for job in "abc":
            found = self.store.read(job)
            assert found is not None
            assert [told(entry) for _, entry in feed if entry.job == job] == [told(entry) for entry in found[1]]
        assert len(feed) == 7
        for place, position in enumerate(positions, 1):
            assert [told(entry) for _, entry in self.another().feed(position, 2)] == [told(e) for _, e in feed[place : place + 2]]
        assert self.store.feed(0, 0) == self.store.feed(0, -1) == []
        assert self.store.feed(positions[-1]) == self.store.feed(2**62) == []

    # ---- making rows anew

    def test_rows_are_made_anew_from_the_log_alone(self) -> None:
        parent, child = begun("parent", due=NOON), begun("child", parent="parent")
        self.store.append([parent, child, begun("other")])
        failed = then(child, stage=Stage.ERROR)
        self.store.append([failed])
        self.store.append([then(parent, children=1)])
        self.store.mark("child", head(failed), NOON, NOON)
        self.store.keep_refusal(refused("child", 1), None)
        feed, refusals = self.store.feed(), self.store.refusals("child")
        now = self.clock.forward(hours=1)
        self.store.reindex(lambda entries: listed(list(entries)))
        self.clock.forward(hours=1)
        for store in (self.store, self.another()):
            assert [told(entry) for _, entry in store.feed()] == [told(entry) for _, entry in feed]
            assert store.refusals("child") == refusals
            assert [(row.job, row.stage, row.due) for row in store.find(Query())] == [
                ("parent", Stage.WORKING, None), ("child", Stage.ERROR, None), ("other", Stage.REQUESTED, None),
            ]  # fmt: skip
            assert [row.job for row in store.find(Query(parent="parent"))] == ["child"]
            assert store.renewals_since() == now
        found = self.store.read("child")
        assert found is not None and found[0] == head(failed), "the renewal is lost"
        self.expect_children_counted()

    def expect_children_counted(self) -> None:
        """After a reindexing, heads stand as before, so that work goes on."""
        parent = then(begun("parent"))
        found = self.store.read("parent")
        assert found is not None and found[0] == head(parent, children=1)
        self.store.append([then(parent, children=1), begun("second", parent="parent")])
        found = self.store.read("parent")
        assert found is not None and found[0].children == 2

    def test_a_reindexing_that_fails_changes_nothing(self) -> None:
        self.store.append([begun("a", due=NOON), begun("b", due=NOON)])
        self.store.mark("a", head(begun("a")), NOON, NOON)
        before, rows, since = everything(self.store), self.store.find(Query()), self.store.renewals_since()

        def fails(entries: Sequence[Entry]) -> Row:
            if entries[0].job == "b":
                raise LookupError("no row for b")
            return listed(list(entries))

        self.clock.forward(hours=1)
        try:
            self.store.reindex(fails)
        except LookupError:
            pass
        else:
            raise AssertionError("the error of `row` was swallowed")
        assert (everything(self.store), self.store.find(Query()), self.store.renewals_since()) == (before, rows, since)

    # ---- time

    def test_the_time_is_the_clocks_aware_and_in_utc(self) -> None:
        assert self.store.now() == NOON
        self.clock.forward(hours=1)
        assert self.store.now() == NOON + HOUR
        assert self.store.now().utcoffset() == timedelta(0)

    def pages(self, query: Query) -> list[str]:
        """The ids of all pages of a query."""
        names: list[str] = []
        while page := self.store.find(evolve(query, after=names[-1] if names else "")):
            assert len(page) <= query.limit
            names += [row.job for row in page]
        return names
