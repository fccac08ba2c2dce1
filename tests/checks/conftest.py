"""A real git repository with a product and its tests, as a worker finds it."""

import subprocess
import sys
from pathlib import Path

import pytest

from lifecycle import checks

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest")  # one that takes long to import

PRODUCT = """\
RETRIES = 3


def attempts(fails):
    return min(fails, RETRIES) + 1
"""

TEST = """\
from retry import attempts


def test_gives_up():
    assert attempts(100) == 4


def test_succeeds():
    assert attempts(0) == 1
"""

FILES = {
    "src/retry.py": PRODUCT,
    "tests/test_retry.py": TEST,
    "conftest.py": "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent / 'src'))\n",
    ".gitignore": "ignored/\n*.log\n",
}


class Repo:
    """A work tree; what is written here is a worker's doing."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> str:
        """Run git, as the worker would."""
        who = ("-c", "user.name=w", "-c", "user.email=w@example.org", "-c", "protocol.file.allow=always")
        ran = subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def write(self, path: str, text: str | bytes, mode: int = 0o644) -> Path:
        """Put a file there."""
        at = self.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(text if isinstance(text, bytes) else text.encode())
        at.chmod(mode)
        return at

    def commit(self, words: str = "work") -> str:
        """Commit everything that is not ignored."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", words)
        return self.git("rev-parse", "HEAD")


def made(root: Path, files: dict[str, str]) -> Repo:
    """A repository with these files committed."""
    root.mkdir(parents=True, exist_ok=True)
    repo = Repo(root)
    repo.git("init", "-q", "-b", "main")
    for path, text in files.items():
        repo.write(path, text)
    repo.commit("base")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return made(tmp_path / "repo", FILES)


@pytest.fixture
def workspace(repo: Repo) -> checks.Workspace:
    """The workspace, its base looked up before the work begins."""
    return checks.Workspace.at(repo.root, "HEAD", environment="here")
