"""Times as stores keep them: whole microseconds since 1970, in UTC, exact both ways; and the machine's own time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(time: datetime) -> int:
    """An aware time as microseconds."""
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(micros: int) -> datetime:
    """Microseconds as a time in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def machine_clock() -> datetime:
    """What the machine says the time is."""
    return datetime.now(UTC)


def told(clock: Clock) -> datetime:
    """What a clock says, in UTC; a ValueError if it says no zone."""
    time = clock()
    if time.tzinfo is UTC:
        return time
    if time.tzinfo is None:
        raise ValueError("the clock gives a time without a zone; give it one that says `datetime.now(UTC)`")
    return time.astimezone(UTC)
