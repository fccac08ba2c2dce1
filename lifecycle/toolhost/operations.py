"""The idempotency table: what is done under one operation id is done once, whoever asks again.

The same id and content give the recorded receipt, other content is a conflict, and an operation in flight is busy. What is going
to be done is planned and kept before it is begun, so that whoever comes after a crash finishes that, and nothing else.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

from attrs import frozen
from pydantic import JsonValue

from lifecycle.law.log import Store
from lifecycle.law.values import canonical, instant
from lifecycle.toolhost.digests import digest
from lifecycle.toolhost.errors import OperationBusy, OperationConflict


@frozen
class _Held:
    content: str
    plan: JsonValue
    until: datetime
    done: bool
    receipt: JsonValue
    text: str


@frozen
class Operations:
    """The operations of one store."""

    store: Store

    def once(
        self, id: str, content: JsonValue, plan: Callable[[], JsonValue], effect: Callable[[JsonValue], JsonValue], lease: float
    ) -> JsonValue:
        """The receipt of an operation, done now or before. OperationConflict or OperationBusy says why there is none.

        `plan` looks and changes nothing; what it returns is kept, and `effect` does it. After a crash the effect is asked for the
        same plan again: it must see how far it came. `lease`: the seconds it may take until it counts as dead.
        """
        said, held = digest(content), self._held(id)
        if held is None:
            planned = plan()
            begun = self._put(id, said, planned, lease, None)
        else:
            if held.content != said:
                raise OperationConflict(id)
            if held.done:
                return held.receipt
            if self.store.now() < held.until:
                raise OperationBusy(id)
            planned = held.plan
            begun = self._put(id, said, planned, lease, held.text)
        try:
            receipt = effect(planned)
        except BaseException:
            self._put(id, said, planned, 0.0, begun)  # nobody is at it any more
            raise
        self._put(id, said, planned, lease, begun, receipt, done=True)
        return receipt

    def receipt(self, id: str) -> JsonValue:
        """The receipt of an operation that was done; None of any other."""
        held = self._held(id)
        return held.receipt if held is not None and held.done else None

    def _held(self, id: str) -> _Held | None:
        text = self.store.get(_shelf(id), _KEY)
        if text is None:
            return None
        content, plan, until, done, receipt = json.loads(text)
        return _Held(content, plan, datetime.fromisoformat(until), done, receipt, text)

    def _put(
        self, id: str, content: str, plan: JsonValue, lease: float, was: str | None, receipt: JsonValue = None, done: bool = False
    ) -> str:
        until = instant(self.store.now() + timedelta(seconds=lease))
        text = canonical([content, plan, until, done, receipt]).decode()
        if not self.store.put(_shelf(id), _KEY, text, was):
            raise OperationBusy(id)
        return text


_KEY = "operation"


def _shelf(id: str) -> str:
    return f"operation/{id}"
