"""`lifecycle approvals`: what waits for an approver, what one is shown before deciding, and one's word."""

import json
from collections.abc import Mapping
from typing import Literal, cast

import click
from pydantic import JsonValue

from lifecycle import terminal
from lifecycle.cli.options import json_option, opened, store_option
from lifecycle.law.door import shown as printable

by_option = click.option("--by", required=True, metavar="PARTY", help="The approver.")


@click.group()
def approvals() -> None:
    """Look at the tool calls that wait for an approver, and decide them."""


@approvals.command(name="list")
@store_option
@json_option
@click.option("--by", metavar="PARTY", help="Only what waits for this approver.")
def list_(store: str, as_json: bool, by: str | None) -> None:
    """List the sets that wait.

    \b
    lifecycle approvals list --by owner
    """
    from lifecycle.toolhost import Approvals

    with opened(store) as held:
        pending = Approvals(held).pending(by=by)
    if as_json:
        terminal.print_json([
            {"job": p.job, "set": p.set, "approver": p.approver, "expires_at": p.expires_at.isoformat(), "calls": len(p.calls)}
            for p in pending
        ])  # fmt: skip
        return
    table = terminal.table("job", "set", "approver", "calls", "expires at")
    for one in pending:
        cells = (one.job, one.set, one.approver, str(len(one.calls)), one.expires_at.isoformat())
        table.add_row(*(terminal.cell(cell) for cell in cells))
    terminal.print_out(table if pending else "nothing waits")


@approvals.command()
@click.argument("job")
@store_option
@json_option
def show(job: str, store: str, as_json: bool) -> None:
    """Show what waits on a job: each call, and what would be done.

    \b
    lifecycle approvals show 8f2a
    """
    from lifecycle.toolhost import Approvals

    with opened(store) as held:
        pending = Approvals(held).pending(job)
    if as_json:
        terminal.print_json([
            {"set": p.set, "approver": p.approver, "expires_at": p.expires_at.isoformat(), "calls": [
                {"call": c.id, "tool": c.tool, "gated": c.gated, "digest": c.digest, "preview": c.preview, "arguments": c.arguments}
                for c in p.calls
            ]}
            for p in pending
        ])  # fmt: skip
        return
    for one in pending:
        click.echo(f"set {printable(one.set)}, decided by {printable(one.approver)} before {one.expires_at.isoformat()}")
        for call in one.calls:
            click.echo(f"  {printable(call.id)} {printable(call.tool)}{'' if call.gated else ' (needs no word, but waits)'}")
            click.echo("\n".join(f"    {line}" for line in terminal.lines(call.preview)))
    if not pending:
        click.echo("nothing waits")


@approvals.command()
@click.argument("job")
@click.argument("words", nargs=-1, metavar="[CALL=approved|CALL=denied]...")
@click.option("--all", "every", type=click.Choice(["approved", "denied"]), help="One word for every call.")
@click.option("--set", "set_id", help="The set; needed only if the job has had another meanwhile.")
@by_option
@store_option
@json_option
def decide(job: str, words: tuple[str, ...], every: str | None, set_id: str | None, by: str, store: str, as_json: bool) -> None:
    """Decide a set: one word for every call in it. What was approved is run by whoever hosts the tools.

    \b
    lifecycle approvals decide 8f2a --by owner --all approved
    lifecycle approvals decide 8f2a --by owner c1=approved c2=denied
    """
    from lifecycle.toolhost import Approvals, SetNotFound

    with opened(store) as held:
        desk = Approvals(held)
        pending = next((one for one in desk.pending(job) if set_id in (None, one.set)), None)
        if pending is None:
            raise click.ClickException(f"nothing waits on job `{printable(job)}`; to mend it, see `lifecycle approvals list`")
        gated = [call.id for call in pending.calls if call.gated]
        verdicts = dict.fromkeys(gated, every) if every else dict(_word(word) for word in words)
        if set(verdicts) != set(gated):
            raise click.UsageError(f"every call needs a word, and no other: {', '.join(gated)}")
        bundle = pending.bundle(cast("Mapping[str, Literal['approved', 'denied']]", verdicts))
        desk.decide(job, pending.set, bundle, by=by)
        try:
            standing: Mapping[str, str] = desk.standing(job, pending.set)
        except SetNotFound:  # proposed by another host than this library's
            standing = {}
    if as_json:
        plain: dict[str, JsonValue] = {"job": job, "set": pending.set, "verdicts": cast("JsonValue", verdicts)}
        terminal.print_json(plain | {"standing": dict(standing)})
        return
    for call in gated:
        click.echo(f"{printable(call)}: {verdicts[call]}{f', {standing[call]}' if call in standing else ''}")


def _word(word: str) -> tuple[str, str]:
    call, _, verdict = word.rpartition("=")
    if verdict not in ("approved", "denied"):
        raise click.UsageError(f"`{printable(word)}` is no word on a call; to mend it, write {json.dumps('c1=approved')}")
    return call, verdict


VERBS = (approvals,)
