"""The shelf on which a store keeps what is left of jobs that were purged: by id, one text each. No new job takes such an id."""

GONE = "gone"


def of(shelf: str, jobs: frozenset[str]) -> bool:
    """Whether a shelf belongs to one of these jobs: its name is `what/JOB` or `what/JOB/which`."""
    return shelf.partition("/")[2].partition("/")[0] in jobs
