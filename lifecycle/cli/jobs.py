"""The verbs that read and move the jobs of a store."""

import sys

import click

from lifecycle import shown, terminal
from lifecycle.cli.options import json_option, opened, store_option
from lifecycle.law.acts import ACTS
from lifecycle.law.decide import answerable
from lifecycle.law.door import shown as printable
from lifecycle.law.errors import JobNotFound
from lifecycle.law.states import Stage, State
from lifecycle.seat import acts_schema


@click.command()
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
    with opened(store) as held:
        rows = held.find(state=state, stage=stage, open=is_open, worker=worker, requester=requester, limit=limit, after=after)
    if as_json:
        terminal.print_json([shown.row(row) for row in rows])
        return
    table = terminal.table("job", "stage", "requester", "worker", "goal", "updated")
    for row in rows:
        plain = shown.row(row)
        table.add_row(*(terminal.cell(plain[key]) for key in ("job", "stage", "requester", "worker", "goal", "updated_at")))
    terminal.print_out(table if rows else "no jobs")


@click.command()
@click.argument("job")
@store_option
@json_option
@click.option("--by", metavar="PARTY", help="Look as this party: a stranger is told that there is no such job.")
def show(job: str, store: str, as_json: bool, by: str | None) -> None:
    """Show one job: where it stands, its terms, what it waits for, who may do what.

    \b
    lifecycle show 8f2a --json
    """
    with opened(store) as held:
        found = held.job(job, by=by)
    if as_json:
        terminal.print_json(shown.job(found))
        return
    terminal.print_out(terminal.pairs(shown.job_lines(found)))


@click.command()
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
    with opened(store) as held:
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


@click.command()
@click.argument("job")
@click.option("--by", required=True, metavar="PARTY", help="Whose acts.")
@store_option
@json_option
def may(job: str, by: str, store: str, as_json: bool) -> None:
    """List the acts that a party may take now.

    \b
    lifecycle may 8f2a --by coder
    """
    with opened(store) as held:
        names = held.may(job, by=by)
    terminal.print_json(list(names)) if as_json else click.echo("\n".join(names) or "nothing")


@click.command()
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
    with opened(store) as held:
        terminal.print_json(held.seat(job, by).schema())


@click.command()
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
    with opened(store, make=True) as held:
        try:
            known = held.job(job, by=by)
            answers = {name: answerable(known, name) for name in ACTS}
        except JobNotFound:
            answers = None  # a request makes it
        given = held.submit_json(job, text or "", by=by, answers=answers, id=act_id, expect=expect)
    _print_receipt(shown.receipt(given), as_json)


@click.command()
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
    with opened(store) as held:
        given = held.seat(job, by).cancel(words)
    _print_receipt(shown.receipt(given), as_json)


@click.command()
@store_option
@json_option
def sweep(store: str, as_json: bool) -> None:
    """Let every deadline that is due lapse.

    \b
    lifecycle sweep --store sqlite:///jobs.db
    """
    with opened(store) as held:
        lapsed = [shown.receipt(given) for given in held.sweep()]
    if as_json:
        terminal.print_json(lapsed)
        return
    for line in lapsed:
        click.echo(f"{line['job']}  {line['stage']}")
    click.echo(f"{len(lapsed)} lapsed")


@click.command()
@click.argument("job", required=False)
@store_option
@json_option
def audit(job: str | None, store: str, as_json: bool) -> None:
    """Hold the logs against their hashes and the law; exit 1 if an entry is not what was written.

    \b
    lifecycle audit
    lifecycle audit 8f2a --json
    """
    with opened(store) as held:
        found = held.audit(job)
    if as_json:
        terminal.print_json([{"job": f.job, "seq": f.seq, "what": f.what} for f in found])
    else:
        click.echo("\n".join(printable(str(f)) for f in found) or "every log is what was written")
    sys.exit(1 if found else 0)


def _print_receipt(plain: shown.Plain, as_json: bool) -> None:
    if as_json:
        terminal.print_json(plain)
    else:
        click.echo(f"{plain['job']} is in {plain['stage']} (entry {plain['seq']}, {str(plain['hash'])[:12]})")


VERBS = (jobs, show, log, may, schema, submit, cancel, sweep, audit)
