"""The verbs that look after a store: migrate, export, import, backup, purge."""

import re
import sys
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Literal, TextIO

import click

from lifecycle import moving, terminal
from lifecycle.cli.options import json_option, opened, store_option
from lifecycle.law.errors import StoreError
from lifecycle.stores.sqlite import SqliteStore

_AGE = re.compile(r"(\d+)([dhms])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@click.command()
@store_option
@click.option("--sql", is_flag=True, help="Print the statements of every PostgreSQL migration instead, and do nothing.")
def migrate(store: str, sql: bool) -> None:
    """Bring a store to this build's layout; make it if there is none.

    Every start does this by itself. Do it here first where the program's own role may not change a schema.

    \b
    lifecycle migrate --store postgresql://owner@db/jobs
    lifecycle migrate --sql > schema.sql
    """
    if sql:
        from lifecycle.stores.postgres.schema import statements

        click.echo(statements())
        return
    with opened(store, make=True):
        click.echo("the store is of this build's layout")


@click.command()
@click.argument("file", default="-")
@store_option
@json_option
def export(file: str, store: str, as_json: bool) -> None:
    """Write a whole store as JSON Lines, every hash intact, while others write.

    \b
    lifecycle export jobs.jsonl --store sqlite:///jobs.db
    lifecycle export | gzip > jobs.jsonl.gz
    """
    with opened(store) as held, _writing(file) as out:
        moved = moving.export(held, out)
    _tell(moved, "exported", as_json, err=file == "-")


@click.command("import")
@click.argument("file", default="-")
@store_option
@json_option
def bring(file: str, store: str, as_json: bool) -> None:
    """Bring an export into a store. What is there already is left, so one that broke off is begun again.

    \b
    lifecycle import jobs.jsonl --store postgresql://owner@db/jobs
    """
    with opened(store, make=True) as held, _reading(file) as text:
        moved = moving.bring(held, text)
    _tell(moved, "brought in", as_json)


@click.command()
@click.argument("file")
@store_option
def backup(file: str, store: str) -> None:
    """Copy a SQLite store to a new file, as it is at one moment, while others write. Of PostgreSQL, `pg_dump` makes one.

    \b
    lifecycle backup jobs-2026-12-07.db --store sqlite:///jobs.db
    """
    with opened(store) as held:
        if not isinstance(held.store, SqliteStore):
            raise StoreError("only a file is backed up so; to mend it, use pg_dump, or `lifecycle export`")
        held.store.backup(file)
    click.echo(f"{file} is a store of its own")


@click.command()
@click.option("--older-than", required=True, metavar="AGE", help="Since when it must have ended: 90d, 36h, 30m, 0s.")
@click.option("--archive", metavar="FILE", help="Export what goes to this new file first.")
@store_option
@json_option
def purge(older_than: str, archive: str | None, store: str, as_json: bool) -> None:
    """Take away what ended long ago, whole delegation trees at a time; its parties are told that it is gone, and what it was.

    \b
    lifecycle purge --older-than 90d --archive 2026-q3.jsonl
    """
    if (age := _AGE.fullmatch(older_than)) is None:
        raise click.UsageError(f"`{older_than}` is no age; give a number of d, h, m or s, as 90d")
    older = timedelta(**{_UNITS[age[2]]: int(age[1])})
    with opened(store) as held, _writing(archive) if archive is not None else nullcontext() as out:
        moved = moving.purge(held, older, out)
    _tell(moved, "purged", as_json)


def _writing(file: str) -> AbstractContextManager[TextIO]:
    """A new file: what is there already is never written over."""
    return nullcontext(sys.stdout) if file == "-" else _file(file, "x")


def _reading(file: str) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdin) if file == "-" else _file(file, "r")


def _file(file: str, mode: Literal["r", "x"]) -> TextIO:
    try:
        return open(file, mode, encoding="ascii", errors="replace", newline="\n")
    except OSError as error:
        raise StoreError(f"`{file}`: {error.strerror}; to mend it, name another file") from error


def _tell(moved: moving.Moved, what: str, as_json: bool, err: bool = False) -> None:
    if as_json and not err:
        terminal.print_json({"jobs": moved.jobs, "entries": moved.entries})
    else:
        click.echo(f"{moved.jobs} jobs, {moved.entries} entries {what}", err=err)


VERBS = (migrate, export, bring, backup, purge)
