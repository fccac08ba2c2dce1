"""`lifecycle fuzz`: a machine is tried in every way there is, and the first fault is told in the fewest steps."""

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lifecycle import terminal
from lifecycle.cli.options import json_option


@click.command()
@click.argument("target")
@click.option("--seed", type=int, default=0, show_default=True, help="For the random walks: the same seed, the same walks.")
@click.option("--only", multiple=True, metavar="CHECK", help="Only this check; may be given again.")
@json_option
def fuzz(target: str, seed: int, only: tuple[str, ...], as_json: bool) -> None:
    """Try a machine in every way there is: `memory:`, `sqlite:`, or `package.module:name` of your own.

    Exit 0 if nothing wrong was found and all that is feasible was tried, 1 if not.

    \b
    lifecycle fuzz memory: --seed 0 --json
    lifecycle fuzz lifecycle.conformance.broken:end_can_be_left
    lifecycle fuzz my_package.my_module:MyMachine --only edges --only "illegal pairs"
    """
    from lifecycle.conformance.fuzz import TargetError, subject_at
    from lifecycle.conformance.fuzz import fuzz as fuzz_subject

    sys.path.insert(0, str(Path.cwd()))  # a module of the user's own is found from where they stand
    try:
        with _progress() as bar:
            at = bar.add_task("", total=None)
            outcome = fuzz_subject(
                subject_at(target),
                target=target,
                seed=seed,
                only=only,
                progress=lambda check, done, of: bar.update(at, description=check, completed=done, total=of),
                finished=lambda one: None if as_json else click.echo(one.explained),
            )
    except TargetError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        terminal.print_json(outcome.plain())
    else:
        click.echo("\n".join(outcome.ending))
    sys.exit(0 if outcome.passed else 1)


def _progress() -> Progress:
    """A bar on stderr, gone at the end; nothing at all where nobody sees it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


VERBS = (fuzz,)
