"""The layouts of the SQLite file: how each is made from the one before it.

A file tells its layout in `user_version` and whose it is in `application_id`. A layout that was ever released is never edited: what
changes is a new one at the end. One that older builds must not write to renames `log`, so that a process of such a build that has
the file open is stopped at its next act. Times are integers, microseconds since 1970 in UTC; a hash is its bytes.
"""

APPLICATION = 0x6C696665
"""The mark of our files: `life`."""

LAYOUTS: tuple[tuple[str, ...], ...] = (
    (
        # The truth. `position` grows in the order of commits; `job` is the position of the job's first entry, so that what belongs
        # together lies together and the index stays small. That a seq is taken once is what the head in `jobs` is checked for.
        """CREATE TABLE log (
            position INTEGER PRIMARY KEY, job INTEGER NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL,
            prev BLOB NOT NULL, hash BLOB NOT NULL, body TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX log_by_act ON log (job, id)",
        # Where each log stands and how its job is listed: made anew from the log at will. `first` is the position of the job's
        # first entry, and every index ends with it: lists are in the order in which jobs were made. The long text comes last.
        """CREATE TABLE jobs (
            first INTEGER PRIMARY KEY, job TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, hash BLOB NOT NULL,
            children INTEGER NOT NULL, renewed_at INTEGER, updated_at INTEGER NOT NULL, due INTEGER, stage TEXT NOT NULL,
            open INTEGER NOT NULL, requester TEXT NOT NULL, worker TEXT NOT NULL, parent TEXT,
            requested_at INTEGER NOT NULL, goal TEXT NOT NULL)""",
        "CREATE INDEX jobs_by_stage ON jobs (stage)",
        "CREATE INDEX jobs_by_requester ON jobs (requester, open)",
        "CREATE INDEX jobs_by_worker ON jobs (worker, open)",
        "CREATE INDEX jobs_by_parent ON jobs (parent) WHERE parent IS NOT NULL",
        "CREATE INDEX jobs_by_due ON jobs (due) WHERE due IS NOT NULL",
        # Since when renewals were kept without a loss. A job's row that is deleted takes its renewal with it, so the mark goes too.
        "CREATE TABLE renewals (since INTEGER NOT NULL)",
        "CREATE TRIGGER renewals_lost AFTER DELETE ON jobs BEGIN DELETE FROM renewals; END",
        "CREATE TABLE refusals (number INTEGER PRIMARY KEY, job TEXT NOT NULL, said TEXT NOT NULL)",
        "CREATE INDEX refusals_by_job ON refusals (job)",
        "CREATE TABLE shelves (shelf TEXT, key TEXT, text TEXT NOT NULL, PRIMARY KEY (shelf, key)) WITHOUT ROWID",
    ),
)
"""Each layout as the statements that make it from the one before; the first makes it from an empty file."""
