"""What the jobs of a store do, told to OpenTelemetry and to structured logs. Who does not import this room pays nothing for it.

    from lifecycle import telemetry
    jobs = telemetry.open("sqlite:///jobs.db")          # else as `lifecycle.open`

It stands between the engine and its store, and changes nothing that passes. Spans: one per commit, a child of whatever span the
caller is in; one per refusal that is kept, with its reason as `error.type`. Metrics, by the semantic conventions (durations in
seconds, counts in annotated units): `lifecycle.acts`, `lifecycle.refusals`, `lifecycle.lapses`, `lifecycle.commit.duration`, and,
read from the store whenever metrics are collected, `lifecycle.jobs`, the open jobs by stage. Logs: the logger `lifecycle`, one
record an entry or refusal, its facts as attributes of the record.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import Span, Status, StatusCode, TracerProvider

from lifecycle.jobs import SWEEP, Jobs
from lifecycle.law.acts import Lapse
from lifecycle.law.errors import KeptRefusal
from lifecycle.law.limits import LIMITS, Limits
from lifecycle.law.log import Change, Entry, Head, Query, Store
from lifecycle.law.states import OPEN
from lifecycle.stores.relay import Relay
from lifecycle.stores.urls import store_at

NAME = "lifecycle"
"""Of the instrumentation, and of the logger."""

PAGE = 1_000
"""Jobs that are counted at a time."""

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_LOG = logging.getLogger(NAME)


class Observed(Relay):
    """A store whose commits and refusals are told. Providers are the global ones unless they are given."""

    def __init__(
        self, store: Store, *, meter_provider: MeterProvider | None = None, tracer_provider: TracerProvider | None = None
    ) -> None:
        super().__init__(store)
        self._tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
        meter = metrics.get_meter(NAME, meter_provider=meter_provider)
        self._acts = meter.create_counter(f"{NAME}.acts", "{act}", "Acts that were accepted and committed.")
        self._refusals = meter.create_counter(f"{NAME}.refusals", "{refusal}", "Acts that were refused, and kept as such.")
        self._lapses = meter.create_counter(f"{NAME}.lapses", "{lapse}", "Deadlines that lapsed.")
        self._duration = meter.create_histogram(
            f"{NAME}.commit.duration", "s", "From the decision to its commit.", explicit_bucket_boundaries_advisory=_BUCKETS
        )
        meter.create_observable_up_down_counter(f"{NAME}.jobs", [self._open], "{job}", "Open jobs.")

    def append(self, changes: Sequence[Change], reads: Sequence[tuple[str, Head]] = ()) -> None:
        """See `Store`."""
        entries = [entry for change in changes for entry in change.entries]
        begun = time.perf_counter()
        error: dict[str, str] = {}
        with self._tracer.start_as_current_span(f"commit {_named(entries)}", attributes=_facts(entries)) as span:
            try:
                super().append(changes, reads)
            except BaseException as raised:
                error["error.type"] = type(raised).__name__
                raise
            finally:
                self._duration.record(time.perf_counter() - begun, error)
            for entry in entries:
                self._entry(span, entry)

    def keep_refusal(self, kept: KeptRefusal, cap: int | None) -> None:
        """See `Store`."""
        super().keep_refusal(kept, cap)
        refusal = kept.refusal
        facts = {f"{NAME}.act": refusal.act, "error.type": refusal.reason.value}
        self._refusals.add(1, facts)
        more = {f"{NAME}.job.id": refusal.job, f"{NAME}.party": refusal.by, f"{NAME}.stage": refusal.stage or ""}
        with self._tracer.start_as_current_span(f"refuse {refusal.act}", attributes={**facts, **more}) as span:
            span.set_status(Status(StatusCode.ERROR, refusal.detail))
            _LOG.info("%s: %s refused as %s", refusal.job, refusal.act, refusal.reason, extra={**facts, **more})

    def _entry(self, span: Span, entry: Entry) -> None:
        facts = {f"{NAME}.act": entry.act.act, f"{NAME}.stage": entry.stage.value}
        self._acts.add(1, facts)
        if isinstance(entry.act, Lapse):
            self._lapses.add(1, {f"{NAME}.cause": entry.act.cause.value})
        more: dict[str, str | int] = {f"{NAME}.job.id": entry.job, f"{NAME}.seq": entry.seq, f"{NAME}.party": entry.by}
        origin = entry.origin.value if entry.origin is not None else ""
        told: dict[str, str | int] = {**facts, **more, f"{NAME}.stage.before": origin}
        span.add_event(entry.act.act, told)
        _LOG.info("%s: %s by %s, %s -> %s", entry.job, entry.act.act, entry.by, origin or "new", entry.stage, extra=told)

    def _open(self, options: CallbackOptions) -> Iterable[Observation]:
        """The open jobs by stage, counted in the store."""
        counted: Counter[str] = Counter({stage.value: 0 for stage in OPEN})
        query = Query(stages=OPEN, limit=PAGE)
        while rows := self.inner.find(query):
            counted.update(row.stage.value for row in rows)
            query = Query(stages=OPEN, after=rows[-1].job, limit=PAGE)
        return [Observation(count, {f"{NAME}.stage": stage}) for stage, count in counted.items()]


def open(
    url: str,
    *,
    limits: Limits = LIMITS,
    clock: Callable[[], datetime] | None = None,
    sweep_every: float | None = SWEEP,
    meter_provider: MeterProvider | None = None,
    tracer_provider: TracerProvider | None = None,
) -> Jobs:
    """Open the jobs at a URL, observed; for the rest as `lifecycle.open`."""
    store = Observed(store_at(url, clock), meter_provider=meter_provider, tracer_provider=tracer_provider)
    return Jobs(store, limits=limits, sweep_every=sweep_every if clock is None else None)


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line, with the facts that they carry: for whoever collects logs without OpenTelemetry."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, ASCII."""
        facts = {key: value for key, value in vars(record).items() if key.startswith(f"{NAME}.") or key == "error.type"}
        told: dict[str, Any] = {"time": record.created, "level": record.levelname, "message": record.getMessage(), **facts}
        return json.dumps(told, default=str)


def _named(entries: Sequence[Entry]) -> str:
    """What a commit is called: few names, whatever is in it."""
    names = {entry.act.act for entry in entries}
    return names.pop() if len(names) == 1 else "acts"


def _facts(entries: Sequence[Entry]) -> dict[str, str | int]:
    jobs = {entry.job for entry in entries}
    facts: dict[str, str | int] = {f"{NAME}.entries": len(entries)}
    return {**facts, f"{NAME}.job.id": jobs.pop()} if len(jobs) == 1 else facts
