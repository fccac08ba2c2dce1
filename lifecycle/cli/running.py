"""`lifecycle run` and `resume`: the main job, from a contract to a verdict, with people at the terminal.

Exit 0 if it passed, 1 for an error, 3 if the worker declined or countered, 4 if it did not pass, 5 if it waits for a person, 130
after a Ctrl-C.
"""

import sys
from datetime import timedelta
from pathlib import Path

import click

from lifecycle import shown, terminal
from lifecycle.cli.options import json_option, opened, store_option
from lifecycle.jobs import Jobs
from lifecycle.law.door import shown as printable
from lifecycle.law.log import Entry

reworks_option = click.option("--reworks", default=1, show_default=True, help="How often a failed result goes back to the worker.")
leave_option = click.option(
    "--leave", is_flag=True, help="Ask nobody: what waits for a person is left pending, and `resume` goes on with it."
)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("contract", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("worker", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- WORKER...")
@click.option("--in", "root", type=click.Path(path_type=Path, file_okay=False), default=".", help="The tree the worker works in.")
@click.option("--base", metavar="REV", help="The revision the work begins from; HEAD where the tree is a git repository.")
@click.option("--name", help="The worker's name as a party; by default its program's.")
@click.option("--id", "job", metavar="JOB", help="The job's id; by default a new one.")
@click.option("--consent", multiple=True, metavar="TOOL", help="Ask for every call of this tool; may be given again.")
@click.option("--environment", metavar="ID", help="What this environment is called in the contract's checks.")
@click.option("--lease", default=600.0, show_default=True, metavar="SECONDS", help="How long the worker may be silent.")
@reworks_option
@leave_option
@store_option
@json_option
def run(
    contract: Path, worker: tuple[str, ...], root: Path, base: str | None, name: str | None, job: str | None,
    consent: tuple[str, ...], environment: str | None, lease: float, reworks: int, leave: bool, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Have a worker do what a contract asks, and judge what it did by the contract's checks.

    The worker is any program that speaks the seven exchanges as JSON lines on stdin and stdout. It is started in the tree.

    \b
    lifecycle run contract.toml --in checkout -- python worker.py
    lifecycle run contract.toml --consent edit --leave -- ./worker
    """
    from lifecycle import checks
    from lifecycle.run import begin

    held = checks.read(contract, verdict=False)
    known = base if base is not None or not (root / ".git").exists() else "HEAD"
    with opened(store, make=True, sweeping=True) as jobs:
        begun = begin(
            jobs, held, worker, root, base=known, worker=name, consent=consent, environment=environment, id=job,
            lease=timedelta(seconds=lease),
        )  # fmt: skip
        _through(jobs, begun, reworks, leave, as_json)


@click.command()
@click.argument("job")
@reworks_option
@leave_option
@store_option
@json_option
def resume(job: str, reworks: int, leave: bool, store: str, as_json: bool) -> None:
    """Go on with a job that a run left: its worker is started again, and asked how it is going.

    \b
    lifecycle resume 8f2a
    """
    with opened(store, sweeping=True) as jobs:
        _through(jobs, job, reworks, leave, as_json)


def _through(jobs: Jobs, job: str, reworks: int, leave: bool, as_json: bool) -> None:
    """Tend the job until it has ended or waits, print the report, and end the program."""
    from lifecycle.cli.asking import AtTerminal
    from lifecycle.run import Away, report, tended

    interrupted = False
    people, tell = Away() if leave or as_json else AtTerminal(), _silent if as_json else _tell
    with tended(jobs, job, people, tell, reworks) as tending:
        try:
            ended = tending.through()
        except KeyboardInterrupt:
            interrupted = ended = True
            tending.cancel("interrupted at the terminal")
    told = report(jobs, job)
    if as_json:
        terminal.print_json(told.plain())
    else:
        _print(told.plain())
    sys.exit(130 if interrupted else _code(told.stage, told.status) if ended else 3 if told.stage == "countered" else 5)


def _code(stage: str, status: str | None) -> int:
    if stage == "declined":
        return 3
    return 0 if status == "passed" or stage == "result.unverified" else 4


def _print(plain: shown.Plain) -> None:
    """The report for a person: every condition, its evidence, why it stopped, what came of it."""
    lines = terminal.table("", "what", "verdict rests on", "the worker said")
    conditions = plain["conditions"]
    assert isinstance(conditions, list)
    for one in conditions:
        assert isinstance(one, dict)
        seen = one["seen"] or one["text"]
        lines.add_row(*(terminal.cell(cell) for cell in (one["status"], f"{one['kind']} {one['id']}", seen, one["said"])))
    if conditions:
        terminal.print_out(lines)
    stopped = f"{plain['reason']} / {plain['status']}" if plain["reason"] else "open"
    why = f"; {plain['why']}" if plain["status"] != "passed" else ""  # a verdict that passed says what stands above
    click.echo(printable(f"{plain['job']}: {plain['stage']}, {stopped}{why}", 2_000))
    if not plain["reason"]:
        click.echo(f"go on with it: lifecycle resume {plain['job']}")


def _tell(entry: Entry) -> None:
    """One line for each entry, as it is made."""
    said = printable(f"{entry.by:<10} {entry.act.act:<9} {entry.stage:<29} {shown.says(entry)}".rstrip(), 200)
    click.echo(f"{entry.at:%H:%M:%S} {said}", err=True)


def _silent(entry: Entry) -> None:
    """A program reads the report."""


VERBS = (run, resume)
