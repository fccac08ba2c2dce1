"""Which store a URL names. A store's own module, and what it depends on, is loaded only when it is named."""

from collections.abc import Callable
from datetime import datetime

from lifecycle.law.errors import StoreError
from lifecycle.law.log import Store


def store_at(url: str, clock: Callable[[], datetime] | None = None) -> Store:
    """The store at `memory:`, `sqlite:///path` (four slashes: absolute) or `postgresql://...`; StoreError for any other URL."""
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and not rest.strip("/"):
        from lifecycle.stores.memory import MemoryStore

        return MemoryStore(clock)
    if scheme == "sqlite" and rest.startswith("///") and len(rest) > 3:
        from lifecycle.stores.sqlite import SqliteStore

        return SqliteStore(rest[3:], clock)
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        try:
            from lifecycle.stores.postgres import PostgresStore
        except ModuleNotFoundError as error:
            raise StoreError(f"no package `{error.name}`; to mend it, pip install 'lifecycle[postgres]'") from error
        return PostgresStore(url, clock)
    raise StoreError(f"no store at `{url}`; to mend it, give `memory:`, `sqlite:///jobs.db` for a file, or `postgresql://...`")
