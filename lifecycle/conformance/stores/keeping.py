"""What every store must keep of logs: all of it, once, in order, whole, for whoever opens it next."""

from collections.abc import Sequence

from lifecycle.conformance.stores.logs import POISON, StoreCase, begun, everything, head, then
from lifecycle.law.errors import Conflict
from lifecycle.law.log import Change, Entry, Head, Query, Store, chained
from lifecycle.law.states import Stage


def conflict(store: Store, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> Conflict:
    """The Conflict that these changes are; they must leave nothing behind."""
    before, rows = everything(store), store.find(Query())
    try:
        store.append(changes, reads)
    except Conflict as error:
        assert everything(store) == before, "a Conflict wrote something"
        assert store.find(Query()) == rows, "a Conflict changed what is listed"
        return error
    raise AssertionError("what should have been a Conflict was written")


def told(entry: Entry) -> tuple[object, ...]:
    """All of an entry, to be compared."""
    facts = (entry.job, entry.seq, entry.id, entry.act, entry.by, entry.at, entry.origin, entry.stage, entry.law)
    return (*facts, entry.lineage, entry.proof, entry.prev, entry.hash, entry.body)


class Keeping(StoreCase):
    """Logs: appended, read, refused."""

    def test_what_was_appended_is_read_back_to_the_byte(self) -> None:
        new = begun("j", parent="p")
        more = then(new, "one", "two")
        self.store.append([new])
        self.store.append([more])
        found = self.store.read("j")
        assert found is not None
        assert found[0] == head(more)
        assert [told(e) for e in found[1]] == [told(e) for e in (*new.entries, *more.entries)]
        assert all(entry.hash == chained(entry.prev, entry.body) for entry in found[1])

    def test_texts_that_have_broken_stores_come_back_as_they_were(self) -> None:
        changes = [begun(f"j{n}", goal=text) for n, text in enumerate(POISON)]
        self.store.append(changes)
        again = self.another()
        for change in changes:
            found = again.read(change.row.job)
            assert found is not None
            assert [told(e) for e in found[1]] == [told(e) for e in change.entries]
        assert [row.goal for row in again.find(Query())] == list(POISON)

    def test_what_is_appended_is_there_for_whoever_opens_the_store_next(self) -> None:
        new = begun("j")
        self.store.append([new])
        assert everything(self.another()) == everything(self.store)
        self.store.append([then(new)])
        assert everything(self.another()) == everything(self.store)

    def test_a_job_that_is_not_there_is_none(self) -> None:
        assert self.store.read("j") is None
        self.store.append([begun("j")])
        assert self.store.read("J") is None
        assert self.store.read("j ") is None

    def test_entries_after_a_seq_are_those_and_the_head_is_always_told(self) -> None:
        new = begun("j")
        more = then(new, "one", "two", "three")
        self.store.append([new, begun("other")])
        self.store.append([more])
        for after, seqs in ((-1, [0, 1, 2, 3]), (0, [1, 2, 3]), (2, [3]), (3, []), (99, [])):
            found = self.store.read("j", after)
            assert found is not None
            assert found[0] == head(more)
            assert [entry.seq for entry in found[1]] == seqs
            assert [entry.prev for entry in found[1]] == [entry.prev for entry in (*new.entries, *more.entries)[after + 1 :]]

    def test_a_head_that_is_not_the_jobs_is_a_conflict_and_writes_nothing(self) -> None:
        new = begun("j")
        more = then(new)
        self.store.append([new])
        self.store.append([more])
        stands = head(more)
        given = (
            None,
            head(new),
            Head(stands.seq + 1, stands.hash),
            Head(stands.seq, new.entries[0].hash),
            Head(stands.seq, stands.hash, 1),
            Head(stands.seq, stands.hash, 0, self.clock.now),
        )
        for wrong in given:
            change = then(more)
            found = conflict(self.store, [Change(wrong, change.entries, change.row)])
            assert found.job == "j"
        assert conflict(self.store, [then(new)]).actual == 1
        assert conflict(self.store, [begun("j")]).expected is None
        assert conflict(self.store, [then(begun("nobody"))]).actual is None

    def test_a_seq_has_no_gap_and_no_fork(self) -> None:
        new = begun("j")
        self.store.append([new])
        two = then(new, "one", "two")
        gap = Change(head(new), two.entries[1:], two.row)
        again = Change(head(new), (two.entries[0], two.entries[0]), two.row)
        backwards = Change(head(new), two.entries[::-1], two.row)
        other = Change(head(new), then(begun("j", goal="another goal")).entries, two.row)
        late = Change(None, then(begun("k")).entries, begun("k").row)
        for change in (gap, again, backwards, other, late):
            conflict(self.store, [change])
        self.store.append([two])

    def test_an_act_id_is_stored_once_in_a_job(self) -> None:
        new = begun("j")
        more = then(new, ids=("x",))
        self.store.append([new, begun("k")])
        self.store.append([more])
        conflict(self.store, [then(more, ids=("x",))])
        conflict(self.store, [then(more, ids=("j",))])
        conflict(self.store, [then(more, "one", "two", ids=("y", "y"))])
        conflict(self.store, [then(begun("k"), ids=("x",)), then(more, ids=("x",))])
        self.store.append([then(begun("k"), ids=("x",))])
        self.store.append([then(more, ids=("X",))])

    def test_a_batch_is_written_whole_or_not_at_all(self) -> None:
        first, second = begun("first"), begun("second")
        self.store.append([first, second, begun("parent")])
        self.store.append([then(second)])
        for stale in (then(second), then(begun("nobody")), begun("second")):
            conflict(self.store, [then(first), begun("third", parent="parent"), stale])
            conflict(self.store, [stale, then(first), begun("third", parent="parent")])
        before = self.store.feed()[-1][0]
        self.store.append([then(first), begun("third", parent="parent"), then(then(second))])
        assert [entry.job for _, entry in self.store.feed(before)] == ["first", "third", "second"]

    def test_a_job_changed_twice_in_a_batch_is_a_conflict(self) -> None:
        new = begun("j")
        conflict(self.store, [begun("k"), new, begun("j")])
        self.store.append([new])
        conflict(self.store, [then(new, ids=("x",)), then(new, ids=("y",))])
        conflict(self.store, [then(new, ids=("x",)), then(then(new, ids=("x",)), ids=("y",))])

    def test_the_head_of_a_job_merely_read_is_held_to(self) -> None:
        seen, new = begun("seen"), begun("j")
        self.store.append([seen, new])
        moved = then(seen)
        self.store.append([moved])
        conflict(self.store, [then(new)], [("seen", head(seen))])
        conflict(self.store, [then(new)], [("seen", head(moved)), ("nobody", head(seen))])
        self.store.append([then(new)], [("seen", head(moved))])
        conflict(self.store, [then(then(new))], [("seen", head(moved)), ("seen", head(seen))])

    def test_a_new_job_counts_as_a_child_of_its_parent(self) -> None:
        parent = begun("parent")
        self.store.append([parent])
        child = begun("child", parent="parent")
        self.store.append([child])
        self.expect_children("parent", 1)
        self.store.append([then(child)])
        self.expect_children("parent", 1)
        conflict(self.store, [then(parent)])
        conflict(self.store, [begun("late", parent="parent")], [("parent", head(parent))])
        more = then(parent, children=1)
        self.store.append([more, begun("second", parent="parent"), begun("third", parent="parent")], [("child", head(then(child)))])
        self.expect_children("parent", 3)
        self.store.append([then(more, children=3)])
        self.expect_children("parent", 3)
        self.store.append([begun("grandchild", parent="newborn"), begun("newborn", parent="parent")])
        self.expect_children("newborn", 1)
        self.expect_children("parent", 4)
        self.expect_children("child", 0)

    def test_a_job_may_have_a_parent_that_is_not_there(self) -> None:
        self.store.append([begun("child", parent="elsewhere")])
        assert self.store.read("elsewhere") is None

    def test_nothing_to_append_writes_nothing(self) -> None:
        self.store.append([begun("j")])
        before = everything(self.store)
        self.store.append([])
        assert everything(self.store) == before

    def test_a_long_log_is_read_whole_and_from_any_place(self) -> None:
        change = begun("j")
        self.store.append([change, begun("k")])
        for _ in range(5):
            change = then(change, *(f"step {n}" for n in range(100)))
            self.store.append([change])
        found, tail = self.store.read("j"), self.store.read("j", 497)
        assert found is not None and tail is not None
        assert [entry.seq for entry in found[1]] == list(range(501))
        assert [told(e) for e in tail[1]] == [told(e) for e in found[1][498:]]

    def test_closing_twice_is_closing_once(self) -> None:
        self.store.append([begun("j")])
        self.store.close()
        self.store.close()
        found = self.another().read("j")
        assert found is not None and found[1][0].stage is Stage.REQUESTED

    def expect_children(self, job: str, count: int) -> None:
        """The job has so many children, for whoever asks and after a reopening too."""
        for store in (self.store, self.another()):
            found = store.read(job)
            assert found is not None
            assert found[0].children == count
