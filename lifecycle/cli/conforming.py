"""`lifecycle conform`: whether a worker keeps the twenty musts, each tried on its process from outside."""

import sys
from pathlib import Path

import click

from lifecycle import terminal
from lifecycle.cli.options import json_option


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("target", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--at", "url", default="", metavar="URL", help="The program answers here, over HTTP, and not on stdio.")
@click.option("--token", default="", envvar="LIFECYCLE_TOKEN", help="The bearer token for a URL.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Where a worker that is not started here writes its effects.")
@click.option("--goal", "goals", multiple=True, metavar="KIND=WORDS", help="What to ask, in words of its trade; none: not checked.")
@click.option("--only", multiple=True, type=click.IntRange(1, 20), metavar="N", help="Only this must; may be given again.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the report to this file, as JUnit XML.")
@json_option
def conform(
    target: tuple[str, ...], url: str, token: str, ledger: Path | None, goals: tuple[str, ...], only: tuple[int, ...],
    junit: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Try a worker: a command, a URL, or `package.module:object`. Options come first.

    Exit 0 if no must was found broken, 1 if one was. What cannot be checked is said, and is not passed.

    \b
    lifecycle conform ./my-worker --its --options
    lifecycle conform http://127.0.0.1:8100
    lifecycle conform my_package.my_module:work
    lifecycle conform --at http://127.0.0.1:8100 ./my-worker --port 8100
    lifecycle conform --goal "plain=total 2024" --goal vague= ./my-worker
    """
    from lifecycle.conformance.workers import Goals, program
    from lifecycle.conformance.workers import conform as try_worker

    words = dict(one.partition("=")[::2] for one in goals)
    kinds = {one.name for one in Goals.__attrs_attrs__}
    if unknown := sorted(set(words) - kinds):
        raise click.UsageError(f"there is no kind of goal `{unknown[0]}`; there are {', '.join(sorted(kinds))}")
    argv = list(target)
    if len(argv) == 1 and argv[0].startswith(("http://", "https://")):
        argv, url = [], argv[0]
    elif len(argv) == 1 and ":" in argv[0] and not Path(argv[0]).exists():
        argv = program(argv[0])
    elif Path(argv[0]).exists():
        argv[0] = str(Path(argv[0]).absolute())
    argv = [str(Path(word).absolute()) if Path(word).is_file() else word for word in argv]
    found = try_worker(
        argv,
        url=url,
        token=token,
        goals=Goals(**words),
        ledger=ledger,
        environment={"PYTHONPATH": ":".join([str(Path.cwd()), *filter(None, sys.path)])},
        only=only,
        finished=lambda outcome: None if as_json else click.echo(outcome.line),
    )
    if junit is not None:
        junit.write_text(found.junit())
    if as_json:
        terminal.print_json(found.plain())
    else:
        click.echo(found.ending)
    sys.exit(0 if found.passed else 1)


VERBS = (conform,)
