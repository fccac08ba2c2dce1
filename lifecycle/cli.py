"""The command line: one function per verb.

The only room that reads the environment, picks a store by it, and prints. Every verb takes `--json`. A refusal, a missing job, a
store that cannot be opened: one line on stderr and exit 1. A call that is not understood: exit 2.
"""

import sys
from pathlib import Path

import attrs
import click

from lifecycle import shown, terminal
from lifecycle.diagrams import draw
from lifecycle.jobs import Jobs
from lifecycle.jobs import open as open_jobs
from lifecycle.law.acts import ACTS
from lifecycle.law.decide import answerable
from lifecycle.law.door import shown as printable
from lifecycle.law.errors import JobNotFound, LifecycleError, StoreError
from lifecycle.law.states import Stage, State
from lifecycle.law.table import LAW
from lifecycle.seat import acts_schema

store_option = click.option(
    "--store",
    envvar="LIFECYCLE_STORE",
    default="sqlite:///jobs.db",
    show_default=True,
    show_envvar=True,
    metavar="URL",
    help="Where the jobs are.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines for a person.")


class _Verbs(click.Group):
    """Errors of the library are one line and exit 1, whatever the verb."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except LifecycleError as error:
            raise click.ClickException(printable(str(error), 2_000)) from error


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="lifecycle")
def main() -> None:
    """Delegated jobs that obey one explicit finite-state machine.

    \b
    lifecycle demo                          nine states, real worker processes, under 20 seconds
    lifecycle jobs                          what there is
    lifecycle show JOB                      one job: where it stands, who may do what
    lifecycle submit JOB --by coder '{"act": "accept"}'
    lifecycle table                         every edge there is
    """


@main.command()
@click.option("--store", type=click.Path(path_type=Path, dir_okay=False), help="The file to write; a temporary one by default.")
@json_option
def demo(store: Path | None, as_json: bool) -> None:
    """Run real worker programs through every one of the nine states.

    \b
    lifecycle demo
    lifecycle demo --store demo.db && lifecycle jobs --store sqlite:///demo.db
    """
    from lifecycle.demo import run

    outcome = run(store, (lambda line: None) if as_json else click.echo)
    url = f"sqlite:///{outcome.store}"
    if as_json:
        told = attrs.asdict(outcome) | {"store": url, "desks": str(outcome.desks)}
        terminal.print_json(told)
        return
    table = terminal.table("job", "worker", "states", "ended as", "what happened")
    for row in outcome.board:
        ended = f"{row.reason} / {row.status}" if row.reason else "open"
        job, worker, end, happened = map(terminal.cell, (row.job, row.worker, ended, row.happened))
        table.add_row(job, worker, terminal.path(row.states), end, happened)
    terminal.print_out(table)
    click.echo(f"{len(outcome.board)} jobs in {outcome.seconds:.1f} s; what the workers made: {outcome.desks}")
    click.echo(f"look into the store: lifecycle jobs --store {url}")


@main.command()
@store_option
@json_option
@click.option("--state", type=click.Choice([s.value for s in State]), help="Only jobs in this state.")
@click.option("--stage", type=click.Choice([s.value for s in Stage]), help="Only jobs in this stage.")
@click.option("--worker", help="Only jobs of this worker.")
@click.option("--requester", help="Only jobs of this requester.")
@click.option("--open/--ended", "is_open", default=None, help="Only jobs that may still come to something, or that ended.")
@click.option("--limit", default=100, show_default=True, help="At most so many.")
@click.option("--after", default="", metavar="JOB", help="Only ids after this one: the next page.")
def jobs(
    store: str,
    as_json: bool,
    state: str | None,
    stage: str | None,
    worker: str | None,
    requester: str | None,
    is_open: bool | None,
    limit: int,
    after: str,
) -> None:
    """List jobs.

    \b
    lifecycle jobs --open --worker coder
    lifecycle jobs --state result --json
    """
    with _opened(store) as held:
        rows = held.find(state=state, stage=stage, open=is_open, worker=worker, requester=requester, limit=limit, after=after)
    if as_json:
        terminal.print_json([shown.row(row) for row in rows])
        return
    table = terminal.table("job", "stage", "requester", "worker", "goal", "updated")
    for row in rows:
        plain = shown.row(row)
        table.add_row(*(terminal.cell(plain[key]) for key in ("job", "stage", "requester", "worker", "goal", "updated_at")))
    terminal.print_out(table if rows else "no jobs")


@main.command()
@click.argument("job")
@store_option
@json_option
@click.option("--by", metavar="PARTY", help="Look as this party: a stranger is told that there is no such job.")
def show(job: str, store: str, as_json: bool, by: str | None) -> None:
    """Show one job: where it stands, its terms, what it waits for, who may do what.

    \b
    lifecycle show 8f2a --json
    """
    with _opened(store) as held:
        found = held.job(job, by=by)
    if as_json:
        terminal.print_json(shown.job(found))
        return
    terminal.print_out(terminal.pairs(shown.job_lines(found)))


@main.command()
@click.argument("job")
@store_option
@json_option
@click.option("--refusals", is_flag=True, help="Show what was refused instead.")
def log(job: str, store: str, as_json: bool, refusals: bool) -> None:
    """Show a job's log, entry by entry; or what was refused on it.

    \b
    lifecycle log 8f2a
    lifecycle log 8f2a --refusals --json
    """
    with _opened(store) as held:
        if refusals:
            plain = [shown.refusal(kept) for kept in held.refusals(job)]
            columns = ("at", "by", "act", "stage", "reason", "detail")
        else:
            entries = held.log(job)
            plain = [shown.entry(entry) | ({} if as_json else {"said": shown.says(entry)}) for entry in entries]
            columns = ("seq", "at", "by", "act", "to", "said")
    if as_json:
        terminal.print_json(plain)
        return
    table = terminal.table(*columns)
    for line in plain:
        table.add_row(*(terminal.cell(line[key]) for key in columns))
    terminal.print_out(table if plain else "nothing was refused")


@main.command()
@click.argument("job")
@click.option("--by", required=True, metavar="PARTY", help="Whose acts.")
@store_option
@json_option
def may(job: str, by: str, store: str, as_json: bool) -> None:
    """List the acts that a party may take now.

    \b
    lifecycle may 8f2a --by coder
    """
    with _opened(store) as held:
        names = held.may(job, by=by)
    terminal.print_json(list(names)) if as_json else click.echo("\n".join(names) or "nothing")


@main.command()
@click.argument("job", required=False)
@click.option("--by", metavar="PARTY", help="Whose acts; needed with a job.")
@store_option
@json_option
def schema(job: str | None, by: str | None, store: str, as_json: bool) -> None:
    """Print the JSON Schema of the acts that a party may take now, or of all acts.

    Hand it to a model as its structured output, and its reply to `submit`.

    \b
    lifecycle schema 8f2a --by coder
    lifecycle schema > acts.schema.json
    """
    if job is None:
        terminal.print_json(acts_schema(ACTS))
        return
    if by is None:
        raise click.UsageError("whose acts? give --by PARTY with a job")
    with _opened(store) as held:
        terminal.print_json(held.seat(job, by).schema())


@main.command()
@click.argument("job")
@click.argument("act", required=False)
@click.option("--by", required=True, metavar="PARTY", help="Whose act it is.")
@click.option("--id", "act_id", metavar="ID", help="The act's id: sent again with it, the act is made once.")
@click.option("--expect", type=int, metavar="SEQ", help="Only if the log still ends there.")
@store_option
@json_option
def submit(job: str, act: str | None, by: str, act_id: str | None, expect: int | None, store: str, as_json: bool) -> None:
    """Make an act, given as JSON (or on stdin). What it answers is filled in.

    \b
    lifecycle submit j1 --by planner '{"act": "request", "goal": "total 2024", "worker": "coder"}'
    lifecycle submit j1 --by coder '{"act": "accept"}'
    lifecycle submit j1 --by coder --id d1 < delivery.json
    """
    text = act if act not in (None, "-") else sys.stdin.read()
    with _opened(store, make=True) as held:
        try:
            known = held.job(job, by=by)
            answers = {name: answerable(known, name) for name in ACTS}
        except JobNotFound:
            answers = None  # a request makes it
        given = held.submit_json(job, text or "", by=by, answers=answers, id=act_id, expect=expect)
    _print_receipt(shown.receipt(given), as_json)


@main.command()
@click.argument("job")
@click.option("--by", required=True, metavar="PARTY", help="The requester.")
@click.option("--words", default="", help="Why.")
@store_option
@json_option
def cancel(job: str, by: str, words: str, store: str, as_json: bool) -> None:
    """Cancel a job.

    \b
    lifecycle cancel 8f2a --by planner --words "no longer needed"
    """
    with _opened(store) as held:
        given = held.seat(job, by).cancel(words)
    _print_receipt(shown.receipt(given), as_json)


@main.command()
@store_option
@json_option
def sweep(store: str, as_json: bool) -> None:
    """Let every deadline that is due lapse.

    \b
    lifecycle sweep --store sqlite:///jobs.db
    """
    with _opened(store) as held:
        lapsed = [shown.receipt(given) for given in held.sweep()]
    if as_json:
        terminal.print_json(lapsed)
        return
    for line in lapsed:
        click.echo(f"{line['job']}  {line['stage']}")
    click.echo(f"{len(lapsed)} lapsed")


@main.command()
@click.argument("job", required=False)
@store_option
@json_option
def audit(job: str | None, store: str, as_json: bool) -> None:
    """Hold the logs against their hashes and the law; exit 1 if an entry is not what was written.

    \b
    lifecycle audit
    lifecycle audit 8f2a --json
    """
    with _opened(store) as held:
        found = held.audit(job)
    if as_json:
        terminal.print_json([{"job": f.job, "seq": f.seq, "what": f.what} for f in found])
    else:
        click.echo("\n".join(printable(str(f)) for f in found) or "every log is what was written")
    sys.exit(1 if found else 0)


@main.command()
@json_option
def table(as_json: bool) -> None:
    """Print THE TABLE: every edge there is.

    \b
    lifecycle table
    lifecycle table --json | jq '.[] | select(.act == "cancel")'
    """
    edges = shown.edges(LAW)
    if as_json:
        terminal.print_json(edges)
        return
    columns = ("act", "by", "from", "to", "why")
    lines = terminal.table(*columns)
    for edge in edges:
        lines.add_row(*(terminal.cell(edge[key] if edge[key] is not None else "(no job)") for key in columns))
    terminal.print_out(lines)


@main.command()
@click.argument("job", required=False)
@store_option
@json_option
@click.option("--kind", type=click.Choice(draw.KINDS), help="By default the machine; with a job, its path.")
@click.option("--format", "form", type=click.Choice(draw.FORMATS), default="mermaid", show_default=True, help="As what.")
@click.option("--out", type=click.Path(dir_okay=False, allow_dash=True), default="-", help="The file to write.")
def diagram(job: str | None, store: str, as_json: bool, kind: str | None, form: str, out: str) -> None:
    """Draw the machine; or one job: its path, its talk, its delegation tree.

    \b
    lifecycle diagram 8f2a --kind sequence --format svg --out talk.svg
    """
    if job is None:
        drawn = draw.draw(kind := kind or "machine", form)
    else:
        with _opened(store) as held:
            drawn = draw.draw(kind := kind or "job", form, held.log(job), lambda parent: held.find(parent=parent))
    click.open_file(out, "wb", lazy=True).write(draw.plain(kind, form, drawn) if as_json else drawn)


def _opened(url: str, make: bool = False) -> Jobs:
    """The jobs at a URL; a file that is not there is an error, unless the verb may make it."""
    if not make and url.startswith("sqlite:///") and not Path(url[10:]).exists():
        raise StoreError(f"no file `{printable(url[10:])}`; to mend it, name the store with --store URL or LIFECYCLE_STORE")
    return open_jobs(url, sweep_every=None)


def _print_receipt(plain: shown.Plain, as_json: bool) -> None:
    if as_json:
        terminal.print_json(plain)
    else:
        click.echo(f"{plain['job']} is in {plain['stage']} (entry {plain['seq']}, {str(plain['hash'])[:12]})")


if __name__ == "__main__":
    main()
