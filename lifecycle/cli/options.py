"""What every verb shares: the store and JSON options, how a store is opened, and how an error ends the program."""

from pathlib import Path

import click

from lifecycle.jobs import SWEEP, Jobs
from lifecycle.jobs import open as open_jobs
from lifecycle.law.door import shown as printable
from lifecycle.law.errors import LifecycleError, StoreError

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


EXTRAS = {
    **dict.fromkeys(("junitparser", "pathspec", "psutil", "ruamel", "tomli_w", "tree_sitter", "tree_sitter_toml"), "run"),
    **dict.fromkeys(("jsonschema", "referencing", "rfc8785", "unidiff"), "run"),
    **dict.fromkeys(("opentelemetry",), "telemetry"),
    **dict.fromkeys(("psycopg", "psycopg_pool"), "postgres"),
    **dict.fromkeys(("httpx", "starlette", "uvicorn"), "worker"),
}
"""Which extra brings a package that a verb may need."""

VERBS = {"conform": "conform", "negotiate": "handshake"}
"""Which extra brings all that a verb needs, where it has one of its own."""


class Verbs(click.Group):
    """Errors of the library, and an extra that is not installed, are one line and exit 1, whatever the verb."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except LifecycleError as error:
            raise click.ClickException(printable(str(error), 2_000)) from error
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            extra = VERBS.get(ctx.invoked_subcommand or "", EXTRAS.get(package)) if package in EXTRAS else None
            if extra is None:
                raise
            raise click.ClickException(f"no package `{error.name}`; to mend it, pip install 'lifecycle[{extra}]'") from error


def opened(url: str, make: bool = False, sweeping: bool = False) -> Jobs:
    """The jobs at a URL; a file that is not there is an error, unless the verb may make it. Deadlines lapse if `sweeping`."""
    if not make and url.startswith("sqlite:///") and not Path(url[10:]).exists():
        raise StoreError(f"no file `{printable(url[10:])}`; to mend it, name the store with --store URL or LIFECYCLE_STORE")
    return open_jobs(url, sweep_every=SWEEP if sweeping else None)
