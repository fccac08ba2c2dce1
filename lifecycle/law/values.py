"""The kinds of value every payload is made of: ids, texts, times, JSON.

Here lives what may be stored at all, on any store: no NUL, no lone surrogate, no NaN, no integer that another reader would
round, no nesting that would break a parser, no time without a zone. What the values mean lives in the rooms above.
"""

import hashlib
import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Protocol, TypeVar

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, JsonValue, StringConstraints

from lifecycle.law.limits import ID_CHARS, JSON_DEPTH, JSON_INTEGER

CLOSED = ConfigDict(extra="forbid", defer_build=True)
"""No unknown field is ever dropped in silence."""


class Named(Protocol):
    """Anything with an id."""

    @property
    def id(self) -> str:
        """The id."""


N = TypeVar("N", bound=Named)


def unique(items: tuple[N, ...]) -> tuple[N, ...]:
    """The same items; a ValueError names the first id that stands twice."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ValueError(f"id `{item.id}` stands twice; give each its own")
        seen.add(item.id)
    return items


def storable(value: JsonValue, depth: int = JSON_DEPTH) -> JsonValue:
    """The same JSON value; a ValueError says what in it no store could keep."""
    match value:
        case bool() | None:
            pass
        case str():
            if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
                raise ValueError("text holds a NUL or a lone surrogate; leave it out or encode it")
        case int():
            if abs(value) >= JSON_INTEGER:
                raise ValueError("an integer of 2**53 or more is rounded by other readers; send it as text")
        case float():
            if not math.isfinite(value):
                raise ValueError("NaN and infinity are not JSON; send null or text")
        case list() | dict():
            if depth == 0:
                raise ValueError(f"nested deeper than {JSON_DEPTH}; flatten it, or point at a file")
            for item in value if isinstance(value, list) else [*value, *value.values()]:
                storable(item, depth - 1)
    return value


def canonical(value: JsonValue) -> bytes:
    """One byte string for one JSON value: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256(data: bytes) -> str:
    """`sha256:` and the 64 hex digits of the data's digest."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def instant(time: datetime) -> str:
    """A time as it is stored: UTC, microseconds, `2026-12-01T09:30:00.000000Z`; such texts sort as the times do."""
    t = time.astimezone(UTC)
    # Every entry holds one: this takes 1.2 us, isoformat 1.8, strftime 3.
    return "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ" % (t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond)  # noqa: UP031


def _not_reserved(party: str) -> str:
    if party == "clock":
        raise ValueError("`clock` is the engine itself; give the party another name")
    return party


def _in_utc(time: datetime) -> datetime:
    if not 1900 <= time.year < 9000:
        raise ValueError("no deadline lies there; give a year from 1900 to 8999")
    return time.astimezone(UTC)


_ID, _DIGEST = r"^[A-Za-z0-9_-]+$", r"^[a-z0-9]+:[0-9a-f]+$"
_TEXT, _WORDS = r"^[^\x00]*$", r"^[^\x00]*[^\x00\s][^\x00]*$"
_LINE = r"^[^\x00\n\v\f\r\x85\u2028\u2029]*[^\x00\s][^\x00\n\v\f\r\x85\u2028\u2029]*$"

PATTERNS = {
    _ID: f"an id is 1 to {ID_CHARS} letters, digits, _ and -",
    _DIGEST: "a digest is `algorithm:hex`",
    _TEXT: "a text has no NUL",
    _WORDS: "a text that says something, without NUL, is needed",
    _LINE: "one line that says something, without NUL, is needed",
}
"""What each pattern asks for, in words."""

Id = Annotated[str, StringConstraints(pattern=_ID, max_length=ID_CHARS)]
"""The id of a job, an act, a condition, a call."""
PartyId = Annotated[Id, AfterValidator(_not_reserved)]
"""Who acts. A remote edge takes it from its authenticator, never from a body."""
Text = Annotated[str, StringConstraints(pattern=_TEXT)]
"""Any text a database can keep."""
Words = Annotated[str, StringConstraints(pattern=_WORDS)]
"""A text that says something."""
Line = Annotated[str, StringConstraints(pattern=_LINE)]
"""One line that says something."""
Digest = Annotated[str, StringConstraints(pattern=_DIGEST, max_length=ID_CHARS + 16)]
"""`algorithm:hex`, as `sha256:9f86…`."""
Count = Annotated[int, Field(ge=0, lt=JSON_INTEGER)]
"""A number of things, smaller than 2**53."""
Exit = Annotated[int, Field(ge=-(2**31), lt=2**32)]
"""What a program ended with: minus the signal that ended it, on Windows up to 2**32 - 1."""
Money = Annotated[Decimal, Field(ge=0, max_digits=30, decimal_places=9)]
"""An amount in the job's own currency, exact."""
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
"""A length of time in seconds, at most some thirty years."""
Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A point in time; a naive datetime is refused, any zone is kept as UTC."""
Interval = Annotated[timedelta, Field(gt=timedelta(0), le=timedelta(days=3650))]
"""A length of time, more than none and at most ten years."""
Json = Annotated[JsonValue, AfterValidator(storable)]
"""Any JSON value that every store can keep."""
