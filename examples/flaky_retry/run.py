"""The flaky-test request, for real: a git repository with a flaky test, a contract, and workers honest and not.

    python examples/flaky_retry/run.py [WORKER ...] [--out DIR]

Each worker gets a checkout of its own. What is printed is the verdict on each; a picture of each job, and the store, are left in
DIR.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import lifecycle
from lifecycle import checks, run
from lifecycle.diagrams import draw
from lifecycle.run import Report

HERE = Path(__file__).parent
WORKERS = ("honest", "declining", "cheats:weakens", "cheats:skips", "cheats:leaves_the_scope")


def checkout(at: Path) -> Path:
    """A git repository with the product as it is before anybody mends it."""
    shutil.copytree(HERE / "repository", at)
    who = ["-c", "user.name=owner", "-c", "user.email=owner@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "the product, and a flaky test"]):
        subprocess.run(["git", *words], cwd=at, check=True)
    return at


def tried(jobs: lifecycle.Jobs, worker: str, tree: Path, reworks: int = 1) -> Report:
    """What one worker's job comes to, on its own checkout."""
    program, _, way = worker.partition(":")
    argv = [sys.executable, str((HERE / "workers" / f"{program}.py").resolve()), *([way] if way else [])]
    contract = checks.read(HERE / "contract.toml")
    job = run.begin(jobs, contract, argv, tree, base="HEAD", worker=(way or program).replace("_", "-"), id=worker.replace(":", "-"))
    with run.tended(jobs, job, reworks=reworks) as tending:
        tending.through()
    return run.report(jobs, job)


def main(words: Sequence[str] | None = None) -> None:
    """Try the workers, print what each came to, and draw its job."""
    read = argparse.ArgumentParser()
    read.add_argument("workers", nargs="*", default=WORKERS)
    read.add_argument("--out", type=Path, default=None)
    asked = read.parse_args(words)
    out = (asked.out or Path(tempfile.mkdtemp(prefix="flaky-retry-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # the contract says `python`
    with lifecycle.open(f"sqlite:///{out}/jobs.db") as jobs:
        for worker in asked.workers:
            told = tried(jobs, worker, checkout(out / "trees" / worker.replace(":", "-")))
            print(f"{worker}: {told.stage}, {told.reason} / {told.status}")
            for line in told.lines:
                print(f"    {line.status:<9} {line.id}: {line.seen or line.text}")
            picture = out / f"{told.job}.svg"
            picture.write_bytes(draw.draw("job", "svg", jobs.log(told.job)))
    print(f"pictures and store: {out}")


if __name__ == "__main__":
    main()
