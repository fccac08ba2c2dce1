"""Every bound and every default, named and motivated.

A limit counts the mover and never the judge: a reviewer may always veto, a verifier may always ask for rework; it is the worker
who may not restate for ever. The rules that apply them live in `guards` and `deadlines`.
"""

from datetime import timedelta

from attrs import frozen

JSON_DEPTH = 64
"""How deep a JSON value inside a payload may nest: deeper than any honest tool argument, far from any parser's stack."""

JSON_INTEGER = 2**53
"""Integers of this size and more are refused: other languages' JSON readers silently round them (RFC 8785)."""

ID_CHARS = 128
"""Longest id of a job, act, party, condition: room for a hash with a prefix, short enough for every database key."""


@frozen
class Limits:
    """How much of a thing one job may hold. Give an engine its own to change them."""

    payload_bytes: int = 1 << 20
    """One act as JSON. Results larger than this belong in a file that an artifact points at."""
    text_chars: int = 1 << 16
    """One text. A goal or a reason longer than a short book chapter belongs in a file."""
    conditions: int = 200
    """Conditions, exclusions or requirements of one job, each counted on its own."""
    revisions: int = 20
    """A negotiation that has not ended by then will not."""
    deferrals: int = 5
    """A promise to answer that was renewed five times is no promise."""
    vetoes: int = 10
    """Acceptances the worker may restate after a veto."""
    reworks: int = 10
    """Deliveries the worker may make again after a rework."""
    counters: int = 20
    """Counters once at work; before, `revisions` bounds them."""
    blocks: int = 100
    """Blocks of one job."""
    proposals: int = 200
    """Approval bundles of one job."""
    calls: int = 64
    """Calls in one bundle: what a person can still read before deciding."""
    entries: int = 10_000
    """Entries of one log. Acts that end or judge the job are always heard."""
    depth: int = 8
    """Levels of a delegation tree, the root being 0."""
    breadth: int = 100
    """Children of one job, open or ended."""
    deferral: timedelta = timedelta(days=7)
    """How far past the first reply's deadline a deferral may promise its answer."""
    refusals: int = 100
    """Refusals kept per job; late deliveries are kept always."""


LIMITS = Limits()
"""The limits of an engine that was given none."""

RESPOND = timedelta(days=1)
"""From each entry into requested to the worker's answer."""
ANSWER = timedelta(days=3)
"""From a counter to the requester's answer."""
REVIEW = timedelta(days=3)
"""From an acceptance to the reviewer's word."""
APPROVAL = timedelta(days=1)
"""From a proposal to the approver's decisions, where the bundle states no expiry."""
VERDICT = timedelta(days=7)
"""From a delivery to the verifier's word."""
LEASE = timedelta(hours=1)
"""How long a worker may be silent while it is its turn."""
STALL = timedelta(days=1)
"""How long a worker may work with nothing to point at."""
STOP = timedelta(minutes=10)
"""From a cancel to the worker's word on the condition of the work."""
COMPLETE = timedelta(days=30)
"""From the request to its completion, where no `complete_by` is in force."""
