"""What every store must do when jobs are purged: all of them goes, a text is left, and nothing of the others is touched."""

import threading

from lifecycle.conformance.stores.keeping import conflict
from lifecycle.conformance.stores.listing import refused
from lifecycle.conformance.stores.logs import NOON, StoreCase, begun, everything, head, then
from lifecycle.law.errors import Conflict
from lifecycle.law.log import Query


class Purging(StoreCase):
    """Jobs: taken away whole."""

    def test_a_purged_job_leaves_the_text_and_nothing_else(self) -> None:
        gone, stays = begun("gone"), begun("stays")
        self.store.append([gone, stays])
        self.store.append([then(gone, "one"), then(stays, "one")])
        self.store.keep_refusal(refused("gone", 1), None)
        self.store.keep_refusal(refused("stays", 1), None)
        for shelf, key in (
            ("turns/gone", "t"),
            ("turn/gone/t", "k"),
            ("orders", "gone"),
            ("turns/stays", "gone2"),
            ("a/b/gone", "k"),
        ):
            assert self.store.put(shelf, key, "text", None)
        since = self.store.renewals_since()
        self.store.purge([("gone", head(then(gone, "one")), "what was")])
        for store in (self.store, self.another()):
            assert store.read("gone") is None and store.refusals("gone") == []
            assert [row.job for row in store.find(Query())] == ["stays"]
            assert [(entry.job, entry.seq) for _, entry in store.feed()] == [("stays", 0), ("stays", 1)]
            assert len(store.refusals("stays")) == 1
            assert store.get("gone", "gone") == "what was" and store.get("gone", "stays") is None
            assert store.shelves() == ["a/b/gone", "gone", "turns/stays"]
            assert store.renewals_since() == since

    def test_no_position_of_a_purged_job_is_given_out_again(self) -> None:
        a, b = begun("a"), begun("b")
        self.store.append([a])
        self.store.append([b])
        last = self.store.feed()[-1][0]
        self.store.purge([("b", head(b), "")])
        assert [entry.job for _, entry in self.store.feed()] == ["a"]
        self.store.append([then(a)])
        self.store.append([begun("c")])
        assert [(entry.job, entry.seq) for _, entry in self.another().feed(last)] == [("a", 1), ("c", 0)]
        last = self.store.feed()[-1][0]
        self.store.purge([("c", head(begun("c")), ""), ("a", head(then(a)), "")])
        assert self.store.feed() == []
        self.store.append([begun("d")])
        assert [entry.job for _, entry in self.another().feed(last)] == ["d"]

    def test_the_id_of_a_purged_job_is_taken_for_ever(self) -> None:
        job = begun("a")
        self.store.append([job])
        self.store.purge([("a", head(job), "")])
        assert conflict(self.store, [job]).job == "a"
        assert conflict(self.store, [begun("b"), job]).job == "a"
        assert conflict(self.another(), [then(job)]).actual is None

    def test_a_purge_on_a_head_that_has_moved_takes_nothing(self) -> None:
        a, b = begun("a"), begun("b")
        self.store.append([a, b])
        self.store.append([then(a)])
        before = everything(self.store)
        try:
            self.store.purge([("b", head(b), ""), ("a", head(a), "")])
        except Conflict as error:
            assert error.job == "a"
        else:
            raise AssertionError("a job was purged that had moved on")
        assert everything(self.another()) == before and self.store.shelf("gone") == {}

    def test_rows_are_made_anew_without_what_was_purged(self) -> None:
        a, b = begun("a"), begun("b", due=NOON)
        self.store.append([a, b])
        self.store.purge([("b", head(b), "")])
        self.store.reindex(lambda entries: begun(entries[0].job).row)
        assert [row.job for row in self.store.find(Query())] == ["a"]

    def test_who_listens_is_told_what_another_writes_or_that_nobody_will_tell(self) -> None:
        heard = threading.Event()
        if self.store.listen(heard.set):
            heard.wait(1.0)  # some wake once when they begin to listen
            heard.clear()
            self.another().append([begun("a")])
            assert heard.wait(20.0)
