"""What the host keeps beside the log: turns as they were asked for, claims, and results. No rule lives here.

Every write is a compare-and-set on the store's shelf, so that of several processes one is first. Whatever the log can tell (what
was proposed, decided, or let lapse) is not kept here.
"""

from attrs import frozen

from lifecycle.law.log import Store
from lifecycle.toolhost.calls import KEPT, TURN, Claim, Result, Turn

_TURN, _CALL = "turn", "call/"


@frozen
class Book:
    """The turns of one store."""

    store: Store

    def begin(self, turn: Turn) -> bool:
        """Keep a turn, open; say whether there was none of this id."""
        return self.store.put(_open(turn.job), turn.id, _written(turn), None)

    def drop(self, turn: Turn) -> None:
        """Forget a turn that was never proposed."""
        self.store.put(_open(turn.job), turn.id, None, _written(turn))

    def open(self, job: str) -> list[Turn]:
        """The job's turns with calls that have not ended for good."""
        return [TURN.validate_json(text) for text in self.store.shelf(_open(job)).values()]

    def turn(self, job: str, id: str) -> Turn | None:
        """A turn by its id, open or not."""
        text = self.store.get(_open(job), id) or self.store.get(_shelf(job, id), _TURN)
        return TURN.validate_json(text) if text is not None else None

    def close(self, turn: Turn) -> None:
        """Put a turn away; nothing in it will change any more."""
        text = _written(turn)
        self.store.put(_shelf(turn.job, turn.id), _TURN, text, None)
        self.store.put(_open(turn.job), turn.id, None, text)

    def kept(self, turn: Turn) -> dict[str, Claim | Result]:
        """The claims and results of a turn, by call id."""
        shelf = self.store.shelf(_shelf(turn.job, turn.id))
        return {key.removeprefix(_CALL): KEPT.validate_json(text) for key, text in shelf.items() if key.startswith(_CALL)}

    def put(self, turn: Turn, call: str, new: Claim | Result | None, was: Claim | Result | None) -> bool:
        """Change what is kept of a call, if it still is what it was; say whether it was."""
        texts = [KEPT.dump_json(one).decode() if one is not None else None for one in (new, was)]
        return self.store.put(_shelf(turn.job, turn.id), _CALL + call, *texts)


def _written(turn: Turn) -> str:
    return TURN.dump_json(turn).decode()


def _open(job: str) -> str:
    return f"turns/{job}"


def _shelf(job: str, turn: str) -> str:
    return f"turn/{job}/{turn}"
