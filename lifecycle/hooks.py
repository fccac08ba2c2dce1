"""Hooks: what is to happen after an entry, run after its commit, outside every lock, at least once.

Each hook has a name and a thread of its own. How far it has come stands on the store's shelf, so that a restart goes on where it
stopped; an entry whose hook raised is recorded there too, and tried again. An act that a hook makes is an ordinary act: it queues
behind the one that woke it. Nothing here can change or delay what the law decided.
"""

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from attrs import frozen

from lifecycle.law.errors import LifecycleError
from lifecycle.law.log import Entry, Store, end
from lifecycle.law.values import instant

ATTEMPTS = 5
"""How often a raising hook is tried by itself; after that `retry` tries it."""

PAUSE = timedelta(milliseconds=100)
"""The pause before the second attempt; it doubles with each."""

POSITIONS, _FAILURES = "hooks", "hook_failures"
"""The shelf of how far each hook has come, by name; that of what it failed at."""

Hook = Callable[[Entry], object]


@frozen
class Failure:
    """An entry whose hook raised: which, how often it was tried, what it raised last, when it is tried again (None: on `retry`)."""

    hook: str
    job: str
    seq: int
    attempts: int
    error: str
    again_at: datetime | None


class Subscription:
    """One named hook on one store."""

    def __init__(self, store: Store, name: str, hook: Hook, after: int | None, poll: float) -> None:
        """`after` is the position to begin after where the store knows none for this name; None begins with what is new."""
        self._store, self._name, self._hook, self._poll = store, name, hook, poll
        self._stopped, self._woken = threading.Event(), threading.Event()
        self._begin(after)
        self._thread = threading.Thread(target=self._run, name=f"hook {name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look for new entries now."""
        self._woken.set()

    def stop(self, timeout: float | None = None) -> None:
        """End after the entry that is being worked on; the rest waits for the next start."""
        self._stopped.set()
        self._woken.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def position(self) -> int:
        """The position up to which every entry was handed to the hook."""
        return int(self._store.get(POSITIONS, self._name) or "0")

    def failures(self) -> list[Failure]:
        """The entries whose hook raised and has not succeeded since."""
        return failures(self._store, self._name)

    def retry(self) -> None:
        """Try every failed entry again, now."""
        for failure in self.failures():
            self._attempt(failure.job, failure.seq, failure.attempts)

    def _begin(self, after: int | None) -> None:
        if self._store.get(POSITIONS, self._name) is not None:
            return
        if after is None:
            after = end(self._store)
        self._store.put(POSITIONS, self._name, str(after), None)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            try:
                moved = self._pass_on() | self._try_again()
            except LifecycleError:
                moved = False  # the store is down, busy or damaged: nothing was passed over, look again after the pause
            if not moved:
                self._woken.wait(self._poll)

    def _pass_on(self) -> bool:
        """Hand what is new to the hook, one entry at a time, noting the position after each; say whether there was any."""
        at = self.position()
        page = self._store.feed(at)
        for position, entry in page:
            if self._stopped.is_set():
                break
            self._attempt(entry.job, entry.seq, 0, entry)
            self._store.put(POSITIONS, self._name, str(position), str(at))
            at = position
        return bool(page)

    def _try_again(self) -> bool:
        now = self._store.now()
        late = [f for f in self.failures() if f.again_at is not None and f.again_at <= now]
        for failure in late:
            self._attempt(failure.job, failure.seq, failure.attempts)
        return bool(late)

    def _attempt(self, job: str, seq: int, before: int, entry: Entry | None = None) -> None:
        """Run the hook on an entry; record the failure, or that it is mended."""
        key = f"{self._name}/{job}/{seq}"
        was = self._store.get(_FAILURES, key) if before else None
        if entry is None:
            found = self._store.read(job, seq - 1)
            if found is None or not found[1]:  # purged meanwhile
                self._store.put(_FAILURES, key, None, was)
                return
            entry = found[1][0]
        try:
            self._hook(entry)
        except Exception as error:
            again = self._store.now() + PAUSE * 2**before if before + 1 < ATTEMPTS else None
            told = [before + 1, f"{type(error).__name__}: {error}"[:2000], again and instant(again)]
            self._store.put(_FAILURES, key, json.dumps(told), was)
        else:
            if was is not None:
                self._store.put(_FAILURES, key, None, was)


def failures(store: Store, name: str) -> list[Failure]:
    """The entries whose hook of this name raised and has not succeeded since."""
    found = []
    for key, text in store.shelf(_FAILURES).items():
        hook, job, seq = key.rsplit("/", 2)
        if hook == name:
            attempts, error, again = json.loads(text)
            found.append(Failure(hook, job, int(seq), attempts, error, again and datetime.fromisoformat(again)))
    return found
