"""Checks that run a program: a command, a metric, a callable. Each trial in a fresh copy of the tested tree.

What is decided here: a program past its time limit has failed (the limit is part of what the check says); a program, a module or
an environment that is not here makes a check unavailable, unless the program is a file of the tree.
"""

import json
import math
import re
import sys
from itertools import pairwise
from pathlib import Path

from attrs import evolve

from lifecycle.checks import called
from lifecycle.checks.child import Missing, Ran, environment, run_child
from lifecycle.checks.junit import Case, NoCases, cases_in, named
from lifecycle.checks.outcome import Ground, Outcome, directory
from lifecycle.law.door import shown
from lifecycle.law.terms import CallableCheck, CommandCheck, MetricCheck

JUNIT = "{junit}"
"""In a command, where the runner puts the path of the JUnit file that it counts. Pytest is given one without asking."""

CASES = 200
"""Case ids that a record keeps, those that are asked for first; `seen` says how many there were."""

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def run_command(check: CommandCheck, ground: Ground) -> Outcome:
    """Run a command `repeat` times; every trial must end as asked, with the cases asked for. The first that does not is told."""
    if check.environment is not None and check.environment != ground.workspace.environment:
        return Outcome("unavailable", f"asks for environment `{check.environment}`, this is `{ground.workspace.environment}`")
    if (check.cases or check.min_cases) and ground.workspace.base is None:
        return Outcome("unavailable", "no base revision to take the test runner's configuration from; name one")
    outcome = Outcome("unavailable", "not run")
    for trial in range(1, check.repeat + 1):
        outcome = _trial(check, ground)
        if outcome.status != "passed":
            return evolve(outcome, seen=f"trial {trial} of {check.repeat}: {outcome.seen}" if check.repeat > 1 else outcome.seen)
    return evolve(outcome, seen=f"{check.repeat} of {check.repeat} trials passed: {outcome.seen}")


def run_metric(check: MetricCheck, ground: Ground) -> Outcome:
    """Run a program that prints one number and nothing else on its standard output, and hold it against the threshold."""
    with ground.snapshot.trial() as (tree, beside):
        try:
            ran = run_child(check.argv, tree, environment(beside, ground.workspace.root), check.timeout, merged=False)
        except Missing as error:
            return _missing(str(error), check.argv)
    shows = _shows(ran, check.argv, ".")
    text = ran.output.text.strip()
    if ran.exit != 0:
        said = shown(ran.errors.text.strip()[-300:], 300)
        return evolve(shows, status="failed", seen=f"{_ending(ran, check.timeout)}{f': {said}' if said else ''}")
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return evolve(shows, status="failed", seen=f"`{shown(text, 80)}` is no number; print one finite number alone")
    value = float(text)
    holds = {
        "<": value < check.threshold,
        "<=": value <= check.threshold,
        "==": value == check.threshold,
        ">=": value >= check.threshold,
        ">": value > check.threshold,
    }[check.op]
    told = f"{check.metric} is {text}{check.unit and ' ' + check.unit}, asked for {check.op} {check.threshold:g} ({check.setup})"
    return evolve(shows, status="passed" if holds else "failed", seen=told)


def run_callable(check: CallableCheck, ground: Ground) -> Outcome:
    """Call a function in a process of its own, at the top of the tested tree. `True` passes; `False`, or a text why, fails.

    Arguments that are a table are given by name, a list by place. Modules that are installed come before those of the tree.
    """
    with ground.snapshot.trial() as (tree, beside):
        asked, told = beside / "asked.json", beside / "told.json"
        asked.write_text(json.dumps(check.arguments), encoding="utf-8")
        argv = (sys.executable, "-P", str(called.__file__), check.entry_point, str(asked), str(told))
        ran = run_child(argv, tree, environment(beside, ground.workspace.root), check.timeout)
        answer = _answer(told)
    shows = _shows(ran, (check.entry_point,), ".")
    match answer:
        case ["passed", str(words)]:
            return evolve(shows, status="passed", seen=words)
        case ["failed", str(words)]:
            return evolve(shows, status="failed", seen=words)
        case ["unavailable", str(words)]:
            return evolve(shows, status="unavailable", seen=words)
    return evolve(shows, status="failed", seen=f"{_ending(ran, check.timeout)}, and gave no answer")


def _trial(check: CommandCheck, ground: Ground) -> Outcome:
    with ground.snapshot.trial() as (tree, beside):
        at = directory(tree, check.cwd)
        if at is None:
            return Outcome("failed", f"there is no directory `{shown(check.cwd, 80)}` in the tree", argv=check.argv, cwd=check.cwd)
        argv, counted = _with_junit(check, tree, beside / "junit.xml")
        try:
            program = [word.replace(JUNIT, str(beside / "junit.xml")) for word in argv]
            ran = run_child(program, at, environment(beside, ground.workspace.root), check.timeout)
        except Missing as error:
            return _missing(str(error), check.argv)
        shows = _shows(ran, argv, check.cwd)
        if ran.exit is None or ran.exit != check.exit:
            return evolve(shows, status="failed", seen=f"{_ending(ran, check.timeout)}, asked for exit {check.exit}")
        if counted is None:
            if check.cases or check.min_cases:
                return evolve(shows, status="unavailable", seen=f"no JUnit file to count cases in; write `{JUNIT}` in `argv`")
            return evolve(shows, status="passed", seen=f"exit {ran.exit}")
        try:
            return _counted(check, cases_in(counted), shows)
        except NoCases as error:
            return evolve(shows, status="failed", seen=f"exit {ran.exit}, but {error}")


def _with_junit(check: CommandCheck, tree: Path, file: Path) -> tuple[tuple[str, ...], Path | None]:
    """The command with `{junit}` where the file goes, and the file whose cases count; None if none does."""
    if any(JUNIT in word for word in check.argv):
        return check.argv, file
    if _is_pytest(check.argv):
        if check.exit != 0 and not check.cases and not check.min_cases:
            return check.argv, None
        end = check.argv.index("--") if "--" in check.argv else len(check.argv)
        return (*check.argv[:end], f"--junitxml={JUNIT}", *check.argv[end:]), file
    if check.junit is None:
        return check.argv, None
    named_file = tree / check.junit
    if directory(tree, str(Path(check.junit).parent)) is not None:
        named_file.unlink(missing_ok=True)  # one that was there before says nothing of this run
    return check.argv, named_file


def _is_pytest(argv: tuple[str, ...]) -> bool:
    words = ["run", *(Path(word).name for word in argv[:4])]
    return any(before in ("-m", "run") and word in ("pytest", "py.test") for before, word in pairwise(words))


def _counted(check: CommandCheck, cases: list[Case], shows: Outcome) -> Outcome:
    """What the cases say. Each case asked for must have run and passed; where another exit is asked for, have failed."""
    wanted = "passed" if check.exit == 0 else "failed"
    fitting = {id: named(cases, id) for id in check.cases}
    ran = [case for case in cases if case.status == wanted]
    tally = f"{len(ran)} of {len(cases)} cases {wanted}"
    asked = [case for found in fitting.values() for case in found]
    shows = evolve(shows, cases=tuple(dict.fromkeys(case.id for case in (*asked, *ran)))[:CASES])
    absent = [id for id, found in fitting.items() if not found]
    other = [f"`{case.id}` {case.status}" for case in asked if case.status != wanted]
    broken = [f"`{case.id}` {case.status}" for case in cases if case.status in ("failed", "error")] if check.exit == 0 else []
    least = max(check.min_cases, 1)
    if absent:
        fault = f"did not run: {', '.join(absent[:10])}"
    elif other or broken:
        fault = ", ".join((other or broken)[:10])
    elif len(ran) < least:
        fault = f"at least {least} are asked for"
    else:
        return evolve(shows, status="passed", seen=f"exit {shows.exit}, {tally}")
    return evolve(shows, status="failed", seen=f"exit {shows.exit}, but {fault} ({tally})")


def _shows(ran: Ran, argv: tuple[str, ...], cwd: str) -> Outcome:
    return Outcome(
        "pending", "", argv=argv, cwd=cwd, exit=ran.exit, output=ran.output.text, output_digest=ran.output.digest,
        started=ran.started, ended=ran.ended,
    )  # fmt: skip


def _ending(ran: Ran, timeout: float) -> str:
    return f"exit {ran.exit}" if ran.exit is not None else f"not ended within {timeout:g} s"


def _missing(what: str, argv: tuple[str, ...]) -> Outcome:
    own = "/" in argv[0] and not Path(argv[0]).is_absolute()
    return Outcome("failed" if own else "unavailable", what, argv=argv)


def _answer(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
