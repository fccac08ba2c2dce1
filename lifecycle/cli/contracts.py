"""`lifecycle contract`: a contract file is begun, shown, and held against what two reviewers could read differently."""

import sys
from pathlib import Path

import click
from pydantic import TypeAdapter

from lifecycle import terminal
from lifecycle.cli.options import json_option
from lifecycle.law.contract import Contract
from lifecycle.law.door import shown as printable

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def contract() -> None:
    """Write, read and check task contracts (TOML or YAML)."""


@contract.command()
@click.argument("file", type=FILE)
@json_option
def lint(file: Path, as_json: bool) -> None:
    """Name what in a contract two honest reviewers could judge differently. Exit 1 if there is anything.

    \b
    lifecycle contract lint contract.toml
    """
    from lifecycle import checks

    found = checks.lint(file)
    if as_json:
        plain = [{"line": f.line, "criterion": f.criterion, "rule": f.rule, "what": f.what, "mend": f.mend} for f in found]
        terminal.print_json(plain)
    else:
        for finding in found:
            click.echo(f"{printable(str(file))}:{finding.line or 1}: {printable(_bare(str(finding)), 1_000)}")
        click.echo(f"{len(found)} to mend" if found else "nothing to mend: every criterion decides by itself")
    sys.exit(1 if found else 0)


@contract.command()
@click.argument("file", type=FILE)
@json_option
def show(file: Path, as_json: bool) -> None:
    """Show what a contract asks for, and its digest.

    \b
    lifecycle contract show contract.yaml --json
    """
    from lifecycle import checks

    held = checks.read(file, verdict=False)
    if as_json:
        plain = TypeAdapter(Contract).dump_python(held, mode="json", exclude_defaults=True)
        terminal.print_json({"digest": held.digest, **plain})
        return
    terminal.print_out(terminal.pairs(_lines(held)))


@contract.command()
@click.argument("id")
@click.option("--goal", required=True, help="What is to be done, in a sentence.")
@click.option("--out", type=click.Path(dir_okay=False, allow_dash=True), default="-", help="The file to write.")
def new(id: str, goal: str, out: str) -> None:
    """Begin a contract: a TOML file with everything one may say, in comments.

    \b
    lifecycle contract new mend-retry --goal "mend the flaky test" --out contract.toml
    """
    from lifecycle import checks

    if out != "-" and Path(out).exists():
        raise click.UsageError(f"`{out}` is there already; to mend it, name another file")
    with click.open_file(out, "w", encoding="utf-8") as file:
        file.write(checks.new(id, goal))


@contract.command()
def schema() -> None:
    """Print the JSON Schema of contract files, for an editor.

    \b
    lifecycle contract schema > contract.schema.json
    """
    from lifecycle import checks

    terminal.print_json(checks.schema())


def _bare(told: str) -> str:
    """A finding without its line, which stands before it already."""
    return told.partition(": ")[2] if told.startswith("line ") else told


def _lines(held: Contract) -> list[tuple[str, str]]:
    lines = [("contract", f"{held.id}, version {held.version}"), ("goal", held.goal), ("digest", held.digest)]
    lines += [("may write", ", ".join(held.write_scope) or "anywhere")]
    for label, criteria in (("before", held.preconditions), ("always", held.invariants), ("accepted", held.acceptance)):
        for one in criteria:
            kind = getattr(one.check, "kind", "by a person" if one.check is None else "text")
            lines.append((label, f"{one.id} ({kind}): {one.text}"))
    lines += [("not", f"{one.id}: {one.text}") for one in held.non_goals]
    lines += [("asks", f"{one.choice}: {one.owner} decides") for one in held.escalation]
    return lines


VERBS = (contract,)
