"""The numbered migrations of the PostgreSQL schema; the first one makes it. Each is done once, in one transaction.

Every key of the log and of the jobs begins with the job's id, so that the tables can be spread by it. No index names `stage`, so
that most moves of a job change no index: `ended` is its stage once it has ended.
"""

from textwrap import dedent
from typing import Any

import psycopg

MIGRATIONS = (
    """
    CREATE TABLE lifecycle.jobs (
        job text COLLATE "C" PRIMARY KEY, first bigint NOT NULL, seq bigint NOT NULL, hash bytea NOT NULL, children bigint NOT NULL,
        renewed_at bigint, requested_at bigint NOT NULL, updated_at bigint NOT NULL, due bigint, stage text NOT NULL,
        open boolean NOT NULL, ended text COLLATE "C", requester text COLLATE "C" NOT NULL, worker text COLLATE "C" NOT NULL,
        parent text COLLATE "C",
        goal text NOT NULL
    ) WITH (fillfactor = 70);
    CREATE INDEX jobs_by_first ON lifecycle.jobs (first);
    CREATE INDEX jobs_by_due ON lifecycle.jobs (due, first) WHERE due IS NOT NULL;
    CREATE INDEX jobs_open ON lifecycle.jobs (first) WHERE open;
    CREATE INDEX jobs_by_end ON lifecycle.jobs (ended, first) WHERE ended IS NOT NULL;
    CREATE INDEX jobs_by_worker ON lifecycle.jobs (worker, open, first);
    CREATE INDEX jobs_by_requester ON lifecycle.jobs (requester, open, first);
    CREATE INDEX jobs_by_parent ON lifecycle.jobs (parent, first) WHERE parent IS NOT NULL;
    CREATE TABLE lifecycle.log (
        job text COLLATE "C" NOT NULL, seq bigint NOT NULL, position bigint NOT NULL, id text COLLATE "C" NOT NULL,
        prev bytea NOT NULL, hash bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (job, seq), UNIQUE (job, id)
    );
    CREATE INDEX log_by_position ON lifecycle.log (position);
    CREATE TABLE lifecycle.refusals (
        job text COLLATE "C" NOT NULL, number bigserial, said text NOT NULL, PRIMARY KEY (job, number)
    );
    CREATE TABLE lifecycle.shelves (
        shelf text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, text text NOT NULL, PRIMARY KEY (shelf, key)
    );
    CREATE TABLE lifecycle.renewals (since bigint NOT NULL);
    """,
)
VERSION = len(MIGRATIONS)
"""The version of the schema that this build writes."""


def migrated(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Do the migrations that are not done yet, in this transaction, alone; the version that there is then."""
    there = connection.execute("SELECT to_regclass('lifecycle.version')").fetchone()
    if there is None or there[0] is None:
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('lifecycle schema', 0))")
        connection.execute("CREATE SCHEMA IF NOT EXISTS lifecycle")
        connection.execute("CREATE TABLE IF NOT EXISTS lifecycle.version (version integer NOT NULL)")
    found = connection.execute("SELECT max(version) FROM lifecycle.version").fetchone()
    done = (found[0] if found else None) or 0
    if done < VERSION:
        connection.execute("LOCK TABLE lifecycle.version IN ACCESS EXCLUSIVE MODE")
        found = connection.execute("SELECT max(version) FROM lifecycle.version").fetchone()
        done = (found[0] if found else None) or 0
        for number, statements in list(enumerate(MIGRATIONS, 1))[done:]:
            connection.execute(statements)
            connection.execute("INSERT INTO lifecycle.version VALUES (%s)", (number,))
            done = number
    return int(done)


def statements() -> str:
    """All migrations as one SQL script, for whoever makes the schema by other means."""
    first = "CREATE SCHEMA IF NOT EXISTS lifecycle;\nCREATE TABLE IF NOT EXISTS lifecycle.version (version integer NOT NULL);\n"
    done = [f"{dedent(one).strip()}\nINSERT INTO lifecycle.version VALUES ({n});\n" for n, one in enumerate(MIGRATIONS, 1)]
    return f"BEGIN;\n{first}{''.join(done)}COMMIT;"
