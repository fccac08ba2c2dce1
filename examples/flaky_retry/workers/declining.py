"""Says no, why, and what would make it say yes."""

from lifecycle.law.acts import Decline
from lifecycle.worker import Desk, Task, serve


def take(task: Task) -> Decline:
    return Decline(kind="insufficient_spec", reason="no machine is named on which the waits are to be measured", mend="name one")


def work(desk: Desk) -> None:
    """Never begun."""


if __name__ == "__main__":
    serve(work, take)
