"""The seven exchanges as frames: what is asked, what may be answered, and how a line of JSON becomes one.

The set is closed: anything else is refused by name. Every frame carries the version; a reply repeats the nonce of what it answers.
Besides the seven, a worker may ask its host to run a tool. Nothing here reads or writes a pipe.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from lifecycle.law import acts, door
from lifecycle.law.states import Work
from lifecycle.law.terms import Need, Spent, Terms
from lifecycle.law.values import Id, Instant, Json, PartyId, Seconds, Text, Words

Version = Literal["worker/0.2"]
VERSION = "worker/0.2"
"""The version of these frames. Another one is refused by name."""

DEADLINE = 5.0
"""The published answer deadline T, in seconds: a worker that has not answered by then has gone quiet."""

FRAME = 1 << 20
"""The longest frame, in bytes: as long as the longest act. A longer line is not read to its end."""

Exchange = Literal["free", "estimate", "take", "status", "result", "needs", "stop"]
EXCHANGES: tuple[Exchange, ...] = ("free", "estimate", "take", "status", "result", "needs", "stop")


class Frame(BaseModel):
    """Closed and frozen: no field but those named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tool(Frame):
    """A tool that the host runs for the worker, and the JSON Schema of its arguments."""

    name: Words
    input_schema: Json


class Task(Frame):
    """The job as the worker is told of it: the terms with every constraint, and the tools it may call."""

    job: Id
    goal: Words
    requester: PartyId
    worker: PartyId
    terms: Terms = Field(default_factory=Terms)
    respond_by: Instant | None = None
    write_scope: tuple[Words, ...] = ()
    tools: tuple[Tool, ...] = ()


class Ask(Frame):
    """One of the seven, from the manager to the worker.

    `task` goes with estimate and take; `job` with the rest but free. `heard` is what the other parties said on the job since the
    last ask, oldest first: the answer to a block, a rework.
    """

    worker: Version = "worker/0.2"
    ask: Exchange
    nonce: Id
    job: Id | None = None
    task: Task | None = None
    heard: tuple[dict[str, JsonValue], ...] = ()


class Free(Frame):
    """Whether the worker is free, from the agent itself; if not, when that changes, if it knows."""

    free: bool
    until: Instant | None = None


class Can(Frame):
    """The worker can do it: what it would cost (costs, never prices), and whether that is a commitment."""

    can: Literal["can"] = "can"
    commitment: bool
    cost: Spent | None = None
    seconds: Seconds | None = None


class Cannot(Frame):
    """The worker cannot do it, and says why."""

    can: Literal["cannot"] = "cannot"
    why: Words


class CannotTell(Frame):
    """The worker cannot tell, and says what is missing."""

    can: Literal["cannot_tell"] = "cannot_tell"
    missing: Words


class Taken(Frame):
    """Whether the worker takes the job: one of four acts of the law. `alongside` in an acceptance declares a second job."""

    act: Annotated[acts.Accept | acts.Decline | acts.Counter | acts.Defer, Field(discriminator="act")]


class Status(Frame):
    """How it is going, in one word and one line; what it points at is there to be looked at."""

    status: Literal["working", "blocked", "done", "failed", "stopped", "never_accepted"]
    line: Text = ""
    points_at: tuple[acts.Pointer, ...] = ()
    spent: Spent | None = None


class Came(Frame):
    """What came of it: a delivery, or the failure stated plainly; or not yet; or it was never accepted."""

    came: Literal["done", "failed", "not_yet", "never_accepted"]
    deliver: acts.Deliver | None = None
    fail: acts.Fail | None = None


class Needs(Frame):
    """What the worker needs, and from whom; or nothing."""

    need: Need | None = None


class Stopped(Frame):
    """The worker has stopped: the condition the work is in. The same answer however often it is asked."""

    work: Work
    words: Text = ""
    artifacts: tuple[acts.Artifact, ...] = ()


Answer: TypeAlias = Free | Can | Cannot | CannotTell | Taken | Status | Came | Needs | Stopped

ANSWERS: Mapping[Exchange, TypeAdapter[Any]] = {
    "free": TypeAdapter(Free),
    "estimate": TypeAdapter(Annotated[Can | Cannot | CannotTell, Field(discriminator="can")]),
    "take": TypeAdapter(Taken),
    "status": TypeAdapter(Status),
    "result": TypeAdapter(Came),
    "needs": TypeAdapter(Needs),
    "stop": TypeAdapter(Stopped),
}
"""What each exchange is answered with."""


class Reply(Frame):
    """The worker's answer to one ask, or why it refuses to answer."""

    worker: Version = "worker/0.2"
    nonce: Text = ""
    answer: dict[str, JsonValue] | None = None
    refused: Text = ""


class Called(Frame):
    """A tool that the worker asks its host to run in the middle of its work. The id is the worker's, one for each call of a job."""

    worker: Version = "worker/0.2"
    call: Id
    job: Id
    tool: Words
    arguments: dict[str, JsonValue]


class Look(Frame):
    """Something about a job has changed: ask again now, not only when it is time to. Nothing rests on it, and it may be lost."""

    worker: Version = "worker/0.2"
    look: Id


class Given(Frame):
    """What became of a call: executed with its output; else rejected, failed or unknown, and why."""

    worker: Version = "worker/0.2"
    call: Id
    status: Literal["executed", "rejected", "failed", "unknown"]
    output: Json = None
    why: Text = ""


F = TypeVar("F", bound=Frame)


class BadFrame(ValueError):
    """A line that is no frame, or not one that may come here: what is wrong with it, and the nonce if it can be told."""

    def __init__(self, what: str, nonce: str = "") -> None:
        super().__init__(what)
        self.nonce = nonce


def read_ask(line: bytes) -> Ask | Given:
    """What a worker reads: an ask, or what became of its call. BadFrame says what it is not."""
    held = _object(line)
    nonce = held.get("nonce") if isinstance(held.get("nonce"), str) else ""
    if "call" in held:
        return _validated(Given, held, "")
    if held.get("ask") not in EXCHANGES:
        told = f"there is no exchange `{door.shown(str(held.get('ask')))}`; there are {', '.join(EXCHANGES)}, and no other"
        raise BadFrame(told, str(nonce))
    return _validated(Ask, held, str(nonce))


def read_reply(line: bytes) -> Reply | Called | Look:
    """What a manager reads: a reply, a call, or that it should look. BadFrame says what it is not."""
    held = _object(line)
    nonce = held.get("nonce")
    if "look" in held:
        return _validated(Look, held, "")
    return _validated(Called, held, "") if "call" in held else _validated(Reply, held, nonce if isinstance(nonce, str) else "")


def written(frame: Frame) -> bytes:
    """A frame as one line of JSON."""
    return frame.model_dump_json(exclude_none=True).encode() + b"\n"


def answered(exchange: Exchange, reply: Reply) -> Answer:
    """The typed answer in a reply. BadFrame if it is a refusal, or no answer to what was asked."""
    if reply.answer is None:
        raise BadFrame(f"`{exchange}` was refused: {door.shown(reply.refused) or 'without a reason'}", reply.nonce)
    try:
        answer: Answer = ANSWERS[exchange].validate_python(reply.answer)
    except ValidationError as error:
        raise BadFrame(f"no answer to `{exchange}`: {door.malformed(error).detail}", reply.nonce) from None
    return answer


def _object(line: bytes) -> dict[str, Any]:
    try:
        held = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise BadFrame(f"no JSON: {door.shown(str(error))}") from None
    if not isinstance(held, dict):
        raise BadFrame("no JSON object")
    nonce = held.get("nonce")
    if held.get("worker") != VERSION:
        told = door.shown(str(held.get("worker")))
        raise BadFrame(f"version `{told}` is not spoken here, `{VERSION}` is", nonce if isinstance(nonce, str) else "")
    return held


def _validated(model: type[F], held: dict[str, Any], nonce: str) -> F:
    try:
        return model.model_validate(held)
    except ValidationError as error:
        raise BadFrame(door.malformed(error).detail, nonce) from None
