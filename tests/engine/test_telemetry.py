"""What is told to OpenTelemetry and to logs: acts, refusals by reason, lapses, jobs by stage, how long a commit took."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lifecycle import Jobs, Stage, telemetry
from lifecycle.law.errors import StoreError

from .conftest import Place
from .relay import Failing
from .stories import DAY, STEPS, Clock, at, refused, request


class Told:
    """What has been told so far."""

    def __init__(self) -> None:
        self.reader, self.spans = InMemoryMetricReader(), InMemorySpanExporter()
        self.meters, self.tracers = MeterProvider([self.reader], shutdown_on_exit=False), TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))

    def points(self, name: str) -> dict[tuple[tuple[str, object], ...], object]:
        """The points of one metric, by their attributes."""
        data = self.reader.get_metrics_data()
        found = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points if metric.name == name else ():
                        value = point.value if hasattr(point, "value") else point.count
                        found[tuple(sorted((key.removeprefix("lifecycle."), v) for key, v in (point.attributes or {}).items()))] = (
                            value
                        )
        return found


@pytest.fixture
def told() -> Iterator[Told]:
    told = Told()
    yield told
    told.meters.shutdown()
    told.tracers.shutdown()


@pytest.fixture
def observed(place: Place, jobs: Jobs, told: Told) -> Jobs:
    return place.over(telemetry.Observed(jobs.store, meter_provider=told.meters, tracer_provider=told.tracers))


def test_acts_refusals_lapses_and_jobs_are_counted(observed: Jobs, told: Told, clock: Clock) -> None:
    at(observed, Stage.WORKING, "a")
    at(observed, Stage.DECLINED, "b")
    refused(STEPS["confirm"], observed.handle("a").seat)
    assert told.points("lifecycle.acts") == {
        (("act", "request"), ("stage", "requested")): 2,
        (("act", "accept"), ("stage", "accepted.ready")): 1,
        (("act", "progress"), ("stage", "progressing.working")): 1,
        (("act", "decline"), ("stage", "declined")): 1,
    }
    assert told.points("lifecycle.refusals") == {(("act", "confirm"), ("error.type", "illegal")): 1}
    jobs = told.points("lifecycle.jobs")
    assert jobs.pop((("stage", "progressing.working"),)) == 1 and set(jobs.values()) == {0}
    assert sum(told.points("lifecycle.commit.duration").values()) == 5  # type: ignore[arg-type]
    clock.ticks(30 * DAY)
    observed.sweep()
    assert sum(told.points("lifecycle.lapses").values()) == 1  # type: ignore[arg-type]
    assert set(told.points("lifecycle.jobs").values()) == {0}


def test_a_commit_is_a_span_below_the_callers_own(observed: Jobs, told: Told) -> None:
    with told.tracers.get_tracer("mine").start_as_current_span("mine") as mine:
        request(observed, "a")
        refused(STEPS["confirm"], observed.handle("a").seat)
    first, refusal, _ = told.spans.get_finished_spans()
    assert (first.name, refusal.name) == ("commit request", "refuse confirm")
    for span in (first, refusal):
        assert span.parent is not None and span.parent.span_id == mine.get_span_context().span_id
        assert span.attributes is not None and span.attributes["lifecycle.job.id"] == "a"
    assert not refusal.status.is_ok and refusal.attributes is not None and refusal.attributes["error.type"] == "illegal"
    assert [(event.name, (event.attributes or {})["lifecycle.stage"]) for event in first.events] == [("request", "requested")]


def test_a_commit_that_fails_is_told_as_what_it_failed_with(place: Place, jobs: Jobs, told: Told) -> None:
    failing = telemetry.Observed(Failing(jobs.store, "append"), meter_provider=told.meters, tracer_provider=told.tracers)
    with pytest.raises(StoreError):
        request(place.over(failing), "a")
    assert list(told.points("lifecycle.commit.duration")) == [(("error.type", "StoreError"),)]
    assert told.points("lifecycle.acts") == {}
    assert not told.spans.get_finished_spans()[0].status.is_ok


def test_logs_are_structured_and_silent_unless_asked_for(observed: Jobs, caplog: pytest.LogCaptureFixture) -> None:
    request(observed, "a")
    assert caplog.records == []
    said = io.StringIO()
    heard = logging.StreamHandler(said)
    heard.setFormatter(telemetry.JsonLines())
    logger = logging.getLogger("lifecycle")
    logger.addHandler(heard)
    logger.setLevel(logging.INFO)
    try:
        STEPS["accept"](observed.handle("a").seat)
        refused(STEPS["confirm"], observed.handle("a").seat)
    finally:
        logger.removeHandler(heard)
        logger.setLevel(logging.NOTSET)
    made, no = map(json.loads, said.getvalue().splitlines())
    assert (made["lifecycle.job.id"], made["lifecycle.act"], made["lifecycle.party"], made["lifecycle.seq"]) == (
        "a",
        "accept",
        "wes",
        1,
    )
    assert made["message"] == "a: accept by wes, requested -> accepted.ready"
    assert (no["error.type"], no["lifecycle.act"], no["lifecycle.stage"]) == ("illegal", "confirm", "accepted.ready")


def test_nothing_of_it_is_loaded_unless_it_is_asked_for() -> None:
    program = "import sys, lifecycle; lifecycle.open('memory:').close(); print('opentelemetry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"


def test_it_opens_as_lifecycle_does() -> None:
    with telemetry.open("memory:") as jobs:
        assert jobs.ask(lambda goal: 42, "multiply").state == "result"
