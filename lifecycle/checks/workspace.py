"""Where checks are run: a worker's tree, the revision its work began from, and what this environment is called."""

from pathlib import Path

from attrs import frozen

from lifecycle.checks.faults import WorkspaceError
from lifecycle.checks.gits import commit_of, has_git
from lifecycle.checks.tree import digest, survey


@frozen
class Workspace:
    """A worker's tree. `base` is a commit: what is not the worker's to change is taken from there.

    Make it with `at` before the work begins: a branch's name may be moved by the worker, a commit's may not.
    """

    root: Path
    base: str | None = None
    environment: str | None = None

    @classmethod
    def at(cls, root: str | Path, base: str | None = None, environment: str | None = None) -> "Workspace":
        """The workspace with its base looked up now. WorkspaceError if `root` is no directory, or has no such revision."""
        top = Path(root).resolve()
        if not top.is_dir():
            raise WorkspaceError(f"there is no directory `{root}`; to mend it, name the top of the worker's tree")
        if base is not None and not has_git(top):
            raise WorkspaceError(f"`{root}` is not the top of a git repository; to mend it, name that, or no base")
        return cls(top, commit_of(top, base) if base is not None else None, environment)

    @property
    def artifact(self) -> str:
        """The digest of the tree as it lies now: what a worker names in its delivery, and records are tied to."""
        return digest(survey(self.root))
