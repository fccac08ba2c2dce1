"""The twenty musts, one probe each: a function of a bench that returns, or raises Unfit with what was seen, or NotChecked with why.

A probe ends what it began. What cannot be seen from outside is never passed: it is said to be not checked.
"""

import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from lifecycle.conformance.workers.bench import ANSWER, ENDS, WATCH, Bench, NotChecked, Unfit, waited
from lifecycle.law import acts
from lifecycle.worker import EXCHANGES, Can, Cannot, CannotTell, Free, Needs, Stopped, Taken

Probe = Callable[[Bench], None]

PRICE = re.compile(r"\b(?:price|fee|charge|invoice|quote)s?\b|[$€£]\s?\d|\b\d+\s?(?:usd|eur|gbp|sats?)\b", re.IGNORECASE)
PAPER = re.compile(r"signature|signed|document|certificate|letterhead", re.IGNORECASE)
SOMEBODY = {"someone", "somebody", "anyone", "anybody", "user", "human", "unknown", "none", "them"}


def closed_set(bench: Bench) -> None:
    """1. Anything but the seven exchanges is refused, with the reason."""
    reply = bench.raw(ask="price", job="any")
    if reply.answer is not None:
        raise Unfit(f"a ninth exchange was answered: {reply.answer}")
    if not reply.refused.strip():
        raise Unfit("a ninth exchange was refused without a reason")


def free_from_the_agent(bench: Bench) -> None:
    """2. Whether it is free is answered by the agent: suspended, it answers nothing."""
    bench.ask("free")
    below = bench.agent()
    if bench.answers_without(below):
        if len(below) == len(bench.everything()):
            raise Unfit("its process was suspended, and something answered for it")
        job = bench.taken(bench.goals.slow)
        bench.begun(job)
        with bench.suspended(below):
            time.sleep(WATCH / 2)
            works = bench.moves(job, 2 * WATCH)
        bench.ask("stop", job)
        if not works:
            raise Unfit("the agent was suspended, and something answered for it")
        if bench.answers_without(bench.everything()):
            raise Unfit("all its processes were suspended, and something answered for it")
    bench.ask("free")


def free_agrees(bench: Bench) -> None:
    """3. Free agrees with the work it holds."""
    job = bench.taken(bench.goals.slow)
    free = bench.ask("free")
    assert isinstance(free, Free)
    if free.free:
        second = bench.task(bench.goals.slow)
        answer = bench.ask("take", task=second)
        assert isinstance(answer, Taken)
        bench.ask("stop", second.job)
        if isinstance(answer.act, acts.Decline):
            raise Unfit(f"at work it says that it is free, and then declines: {answer.act.reason}")
    bench.ask("stop", job)
    if not waited(lambda: bool(getattr(bench.ask("free"), "free", False)), ENDS):
        raise Unfit("stopped, it never says again that it is free")


def can_cannot_or_cannot_tell(bench: Bench) -> None:
    """4. What it would take is can, cannot with why, or cannot tell with what is missing, each where it is true."""
    goals = bench.goals
    plain, outside, vague = (bench.ask("estimate", task=bench.task(goal)) for goal in (goals.plain, goals.outside, goals.vague))
    if not isinstance(outside, Cannot):
        raise Unfit(f"of what is out of its scope it says `{outside}`")
    if isinstance(plain, Cannot):
        raise NotChecked(f"it can do nothing of what it is asked: {plain.why}")
    if isinstance(plain, CannotTell):
        raise Unfit(f"complete as it is asked, it cannot tell: {plain.missing}")
    if not isinstance(vague, CannotTell):
        raise Unfit(f"with the deciding fact withheld it says `{vague}`")


def estimate_says_commitment(bench: Bench) -> None:
    """5. Every estimate says whether it is a commitment."""
    seen = 0
    for goal in (bench.goals.plain, bench.goals.slow, bench.goals.poison, bench.goals.missing):
        answer = bench.raw(ask="estimate", task=_plain(bench, goal)).answer or {}
        if answer.get("can") == "can":
            seen += 1
            if not isinstance(answer.get("commitment"), bool):
                raise Unfit(f"its estimate of `{goal}` does not say whether it is a commitment: {answer}")
    if not seen:
        raise NotChecked("it gives no estimate")


def commitment_binds(bench: Bench) -> None:
    """6. What it committed to, it keeps."""
    estimate = bench.ask("estimate", task=bench.task(bench.goals.plain))
    if not isinstance(estimate, Can) or not estimate.commitment or estimate.seconds is None:
        raise NotChecked("it commits to no time")
    begun = time.monotonic()
    job = bench.taken(bench.goals.plain)
    bench.until(job, "done", "failed", "stopped", within=estimate.seconds + ENDS)
    took = time.monotonic() - begun
    if took > estimate.seconds + WATCH:
        raise Unfit(f"it committed to {estimate.seconds:g} s, and took {took:.1f} s without a word")


def refusal_names_its_reason(bench: Bench) -> None:
    """7. A refusal names its reason: of what is out of scope another than when it is busy."""
    answer = bench.ask("take", task=bench.task(bench.goals.outside))
    assert isinstance(answer, Taken)
    if isinstance(answer.act, acts.Accept):
        raise Unfit("it takes what is out of its scope")
    if isinstance(answer.act, acts.Decline) and answer.act.kind == "over_capacity":
        raise Unfit(f"free, it refuses what is out of its scope as being busy: {answer.act.reason}")
    if isinstance(answer.act, acts.Decline) and len(answer.act.reason.split()) < 2:
        raise Unfit(f"its refusal says nothing: `{answer.act.reason}`")


def owned_to_its_end(bench: Bench) -> None:
    """8. An accepted job is owned to its end: one that cannot be done fails, one that a crash cut short is not forgotten."""
    poison = bench.taken(bench.goals.poison)
    bench.until(poison, "failed", "stopped")
    slow = bench.taken(bench.goals.slow)
    bench.begun(slow)
    bench.restart()
    after = bench.status(slow)
    if after.status == "never_accepted":
        raise Unfit("killed and started again, it has forgotten the job it had accepted")
    if after.status in ("working", "blocked") and not bench.moves(slow, 2 * WATCH):
        raise Unfit(f"killed and started again, it says `{after.status}` of a job on which nothing moves")
    bench.ask("stop", slow)


def status_answers(bench: Bench) -> None:
    """9. Status answers even when nothing has happened."""
    job = bench.taken(bench.goals.slow)
    for _ in range(5):
        bench.status(job)
        time.sleep(WATCH / 5)
    bench.ask("stop", job)


def points_at_progress(bench: Bench) -> None:
    """10. No progress that it cannot point at."""
    job = bench.taken(bench.goals.slow)
    lines: dict[str, int] = {}
    for _ in range(8):
        told = bench.status(job)
        if not told.points_at and re.search(r"\d+\s?%", told.line):
            lines.setdefault(told.line, bench.effects(job))
        time.sleep(WATCH / 4)
    bench.ask("stop", job)
    if len(lines) > 1 and len(set(lines.values())) == 1:
        raise Unfit(f"it tells of progress while nothing has changed, and points at nothing: {', '.join(lines)}")


def unknown_job(bench: Bench) -> None:
    """11. A job it has never accepted is said to be unknown."""
    refused = bench.task(bench.goals.outside)
    bench.ask("take", task=refused)
    for job in (f"conform-{secrets.token_hex(4)}", refused.job):
        if (told := bench.status(job).status) != "never_accepted":
            raise Unfit(f"of a job that it never accepted it says `{told}`")
        if (came := bench.came(job).came) != "never_accepted":
            raise Unfit(f"of a job that it never accepted it says that it came to `{came}`")


def result_or_failure(bench: Bench) -> None:
    """12. What came of it is a result, or the failure stated plainly."""
    plain = bench.taken(bench.goals.plain)
    if bench.until(plain, "done", "failed").status == "failed":
        raise NotChecked("it fails at what is plain")
    came = bench.came(plain)
    made = came.deliver
    if came.came != "done" or made is None:
        raise Unfit(f"done, it says that the job came to `{came.came}`")
    if not made.artifacts and made.value in (None, "", [], {}):
        raise Unfit("it is done, and there is nothing in the result")
    poison = bench.taken(bench.goals.poison)
    bench.until(poison, "failed", "stopped")
    ended = bench.came(poison)
    if ended.came != "failed" or ended.fail is None or not ended.fail.words.strip():
        raise Unfit(f"failed, it does not say plainly why: {ended}")
    if not bench.effects(plain):
        bench.begun(bench.taken(bench.goals.slow))
        raise Unfit("it is done, and has had no effect, though its work has")


def block_says_what_and_who(bench: Bench) -> None:
    """13. A block says what is needed, and from whom."""
    job = bench.taken(bench.goals.missing)
    bench.until(job, "blocked", within=ENDS / 3)
    needs = bench.ask("needs", job)
    assert isinstance(needs, Needs)
    bench.ask("stop", job)
    if needs.need is None:
        raise Unfit("blocked, it needs nothing")
    if needs.need.whom.lower() in SOMEBODY:
        raise Unfit(f"it needs `{needs.need.what}` from `{needs.need.whom}`, who is nobody")


def stop_stops(bench: Bench) -> None:
    """14. Stop stops, says in which condition the work is, and is the same however often it is said."""
    job = bench.taken(bench.goals.slow)
    bench.begun(job)
    stopped = bench.ask("stop", job)
    assert isinstance(stopped, Stopped)
    if str(stopped.work) in ("untouched", "unknown"):
        raise Unfit(f"it was at work, and says that the work is `{stopped.work}`")
    time.sleep(WATCH / 2)
    if bench.moves(job, 2 * WATCH):
        raise Unfit("stopped, it goes on: effects of the job still come")
    if (told := bench.status(job).status) in ("working", "blocked"):
        raise Unfit(f"stopped, its status is `{told}`")
    if bench.ask("stop", job) != stopped:
        raise Unfit("told to stop again, it answers otherwise")


def no_price(bench: Bench) -> None:
    """15. It tells costs, never prices."""
    for goal in (bench.goals.plain, bench.goals.outside, bench.goals.vague):
        for exchange in ("estimate", "take"):
            task = _plain(bench, goal)
            answer = bench.raw(ask=exchange, task=task).answer or {}
            bench.raw(ask="stop", job=task["job"])
            for key, text in _texts(answer):
                if PRICE.search(key) or PRICE.search(text):
                    raise Unfit(f"`{exchange}` names a price: {key} {text}")


def terms_honoured(bench: Bench) -> None:
    """16. It honours the terms it was given, and is held to no others."""
    task = bench.task(bench.goals.slow)
    answer = bench.ask("take", task=task)
    assert isinstance(answer, Taken)
    if not isinstance(answer.act, acts.Accept):
        raise NotChecked(f"it does not take it: `{answer.act.act}`")
    invented = answer.act.conditions is not None and set(answer.act.conditions) != set(task.terms.conditions)
    bench.ask("stop", task.job)
    if invented or answer.act.exclusions:
        raise Unfit("it accepts on terms that nobody gave it")
    free = bench.taken(bench.goals.slow)
    bench.begun(free)
    time.sleep(4 * WATCH)
    held = bench.status(free)
    bench.ask("stop", free)
    if held.status in ("failed", "stopped"):
        raise Unfit(f"with no deadline given it ends by itself: {held.line or held.status}")
    due = datetime.now(UTC) + timedelta(seconds=1.5)
    job = bench.taken(bench.goals.slow, due)
    bench.begun(job)
    if datetime.now(UTC) >= due:
        raise NotChecked("it has its first effect after the deadline")
    time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0) + WATCH)
    moving = bench.moves(job, 2 * WATCH)
    told = bench.status(job).status
    bench.ask("stop", job)
    if moving or told in ("working", "done"):
        raise Unfit(f"past the deadline it was given it is `{told}`{' and still at work' if moving else ''}")


def second_job_declared(bench: Bench) -> None:
    """17. A second job is declared, not absorbed: declined, or taken to run beside the first, and then both move."""
    first = bench.taken(bench.goals.slow)
    bench.begun(first)
    second = bench.task(bench.goals.slow)
    answer = bench.ask("take", task=second)
    assert isinstance(answer, Taken)
    try:
        if not isinstance(answer.act, acts.Accept):
            return
        if not answer.act.alongside:
            raise Unfit("it takes a second job, and does not say that it runs beside the first")
        if not (bench.moves(second.job, 4 * WATCH) and bench.moves(first, 4 * WATCH)):
            raise Unfit("it says that the second runs beside the first, and they do not both move")
    finally:
        bench.ask("stop", first)
        bench.ask("stop", second.job)


def refuses_and_never_guesses(bench: Bench) -> None:
    """18. A refusal, never a guess: what it cannot do or tell it takes in neither exchange."""
    for goal in (bench.goals.outside, bench.goals.vague):
        estimate = bench.ask("estimate", task=bench.task(goal))
        answer = bench.ask("take", task=bench.task(goal))
        assert isinstance(answer, Taken)
        if isinstance(estimate, Can):
            raise Unfit(f"of `{goal}` it guesses: {estimate}")
        if isinstance(answer.act, acts.Accept):
            raise Unfit(f"it takes `{goal}`, of which it says `{estimate}`")


def no_paper(bench: Bench) -> None:
    """19. No document and no signature is asked for or given."""
    for exchange in ("free", "estimate", "take"):
        answer = bench.raw(ask=exchange, task=_plain(bench, bench.goals.plain)).answer or {}
        for key, _ in _texts(answer):
            if PAPER.search(key):
                raise Unfit(f"`{exchange}` carries `{key}`")


def all_seven_answer(bench: Bench) -> None:
    """20. No partial implementation: all seven answer, if only to refuse with a reason."""
    task = _plain(bench, bench.goals.outside)
    for exchange in EXCHANGES:
        reply = bench.raw(ask=exchange, task=task, job=f"conform-{secrets.token_hex(4)}")
        if reply.answer is None and not reply.refused.strip():
            raise Unfit(f"`{exchange}` is refused without a reason")


PROBES: Mapping[int, Probe] = dict(enumerate((
    closed_set, free_from_the_agent, free_agrees, can_cannot_or_cannot_tell, estimate_says_commitment, commitment_binds,
    refusal_names_its_reason, owned_to_its_end, status_answers, points_at_progress, unknown_job, result_or_failure,
    block_says_what_and_who, stop_stops, no_price, terms_honoured, second_job_declared, refuses_and_never_guesses, no_paper,
    all_seven_answer,
), 1))  # fmt: skip
"""The twenty musts, by number."""
MUSTS: Mapping[int, str] = {number: (probe.__doc__ or "").partition(". ")[2] for number, probe in PROBES.items()}
"""Each in one sentence."""

UNSEEN = (
    "a relay that mirrors the agent's state", "the truth of a reason or of a cost", "work done off the ledger",
    f"silence beyond {ANSWER:g} s",
)  # fmt: skip
"""What cannot be checked from outside, whoever looks."""


def _plain(bench: Bench, goal: str) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = bench.task(goal).model_dump(mode="json", exclude_none=True)
    return told


def _texts(value: JsonValue, key: str = "") -> Iterator[tuple[str, str]]:
    """Every key and text of a JSON value."""
    match value:
        case dict():
            for name, held in value.items():
                yield name, ""
                yield from _texts(held, name)
        case list():
            for held in value:
                yield from _texts(held, key)
        case str():
            yield key, value
