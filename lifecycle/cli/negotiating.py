"""`lifecycle negotiate`: whether what an agent advertises grounds what is required of it."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError

from lifecycle import terminal
from lifecycle.cli.options import json_option
from lifecycle.law.capability import Advertisement, Requirement


@click.command()
@click.argument("advertisement", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("requirements", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--probe", "url", metavar="URL", help="Probe the remote here, where it does not advertise what is required.")
@click.option("--size", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Records of the planned batch.")
@click.option("--poison", type=click.IntRange(1), default=1_000_000, show_default=True, help="Bytes of a record that it refuses.")
@json_option
def negotiate(advertisement: Path, requirements: Path, url: str | None, size: int, poison: int, as_json: bool) -> None:
    """Decide whether to delegate: ADVERTISEMENT and REQUIREMENTS are JSON files; the latter holds one requirement or a list.

    Exit 0 if a job may be requested on it, 1 if not: then every line says what is not verified and what would mend it.
    """
    from lifecycle.handshake import HttpRemote, Record, Workload
    from lifecycle.handshake import negotiate as decide

    try:
        said = TypeAdapter(Advertisement).validate_json(advertisement.read_bytes())
        asked = TypeAdapter(tuple[Requirement, ...] | Requirement).validate_json(requirements.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise click.UsageError(f"{error.title}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    work = Workload(
        size, lambda n: [Record(f"r{place}", f"record {place}") for place in range(n)], lambda one: Record(one.id, "x" * poison)
    )
    wanted = asked if isinstance(asked, tuple) else (asked,)
    found = decide(wanted, said, remote=HttpRemote(url) if url else None, work=work, now=datetime.now(UTC))
    if as_json:
        kept = TypeAdapter(tuple[Requirement, ...]).dump_python(found.requirements, mode="json")
        groundings = [one._asdict() for one in found.groundings]
        terminal.print_json({"outcome": found.outcome, "groundings": groundings, "requirements": kept})
    else:
        click.echo(found.text)
    sys.exit(0 if found.grounded else 1)


VERBS = (negotiate,)
