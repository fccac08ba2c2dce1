"""What may happen between an engine and its store: a rival's turn, a fault, a death."""

import os
import signal
from collections.abc import Callable

from lifecycle.law.errors import StoreError
from lifecycle.law.log import Store
from lifecycle.stores.relay import Relay


class Between(Relay):
    """Somebody else's turn comes just before the n-th thing that is asked of the store, and once only."""

    def __init__(self, inner: Store, n: int, turn: Callable[[], object]) -> None:
        super().__init__(inner)
        self.left, self.turn = n, turn
        self.taken = False

    def asked(self, what: str) -> None:
        if not self.taken and self.left == 0:
            self.taken = True
            self.turn()
        self.left -= 1


class Failing(Relay):
    """A store that fails at what is told, as often as is told: before it does it or after, and not the first `spares` times."""

    def __init__(self, inner: Store, what: str, times: int = 1, *, after: bool = False, spares: int = 0) -> None:
        super().__init__(inner)
        self.what, self.times, self.after, self.spares = what, times, after, spares

    def asked(self, what: str) -> None:
        self._fail(what, False)

    def answered(self, what: str) -> None:
        self._fail(what, True)

    def _fail(self, what: str, after: bool) -> None:
        if what == self.what and after is self.after and self.times > 0:
            self.spares -= 1
            if self.spares < 0:
                self.times -= 1
                raise StoreError("the store is down; to mend it, wait")


class Watched(Relay):
    """A store that tells what was asked of it."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.told: list[str] = []

    def asked(self, what: str) -> None:
        self.told.append(what)


class Deadly(Relay):
    """A store under which the process dies, with kill -9, at the n-th moment: before what is asked of it, and after writes."""

    def __init__(self, inner: Store, n: int) -> None:
        super().__init__(inner)
        self.left = n

    def asked(self, what: str) -> None:
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def answered(self, what: str) -> None:
        if what == "append":
            self.asked(what)
