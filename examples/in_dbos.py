"""A delegated job in a DBOS workflow that is killed between a commit and its checkpoint: every act is in the log once.

    python examples/in_dbos.py

DBOS runs a step again whose end it has not recorded. The step makes its act under an id of the workflow's, so the second run gets
the first one's receipt. The engine of the workflow and that of the job are two, and neither trusts the other's memory.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dbos import DBOS, SetWorkflowID

import lifecycle
from lifecycle import acts

PLACE = Path(os.environ.get("PLACE", "."))
DIES = os.environ.get("DIES", "")
"""The step after whose commit the process dies, before DBOS has heard of it."""


def made(name: str, act: acts.Act, by: str) -> str:
    """One act, made once, however often the step is run; then perhaps the end."""
    with lifecycle.open(f"sqlite:///{PLACE / 'jobs.db'}") as jobs:
        receipt = jobs.submit("job", act, by=by, id=name)
    mark = PLACE / f"died-{name}"
    if name == DIES and not mark.exists():
        mark.touch()
        os._exit(9)
    return receipt.hash


@DBOS.step()
def request() -> str:
    """Ask."""
    return made("job", acts.Request(goal="total 2024", worker="coder"), "planner")


@DBOS.step()
def accept() -> str:
    """The worker's answer."""
    return made("accept", acts.Accept(answers="job"), "coder")


@DBOS.step()
def deliver() -> str:
    """The worker's result."""
    return made("deliver", acts.Deliver(value=204.22), "coder")


@DBOS.workflow()
def delegated() -> list[str]:
    """From request to result; the receipts' hashes."""
    return [request(), accept(), deliver()]


def run() -> None:
    """Begin the workflow, or go on with it where it was killed."""
    DBOS(config={
        "name": "delegated", "system_database_url": f"sqlite:///{PLACE / 'dbos.db'}",
        "application_version": "1", "executor_id": "one", "log_level": "ERROR",
    })  # fmt: skip
    DBOS.launch()
    with SetWorkflowID("delegated"):
        hashes = DBOS.start_workflow(delegated).get_result()
    print(" ".join(one[:12] for one in hashes))
    DBOS.destroy()


def main() -> None:
    """Killed after the commit of every step in turn; begun anew each time until it is through."""
    for dies in ("job", "accept", "deliver"):
        with tempfile.TemporaryDirectory() as place:
            command, ended = [sys.executable, __file__, "run"], list[subprocess.CompletedProcess[str]]()
            while not ended or ended[-1].returncode == 9:
                told = {**os.environ, "PLACE": place, "DIES": dies}
                ended.append(subprocess.run(command, env=told, capture_output=True, text=True, check=False))
            assert ended[-1].returncode == 0, ended[-1].stderr
            with lifecycle.open(f"sqlite:///{place}/jobs.db") as jobs:
                log = jobs.log("job")
            assert ended[-1].stdout.split() == [entry.hash[:12] for entry in log]
            print(f"killed after `{dies}`, {len(ended)} runs: {' '.join(entry.act.act for entry in log)}")


if __name__ == "__main__":
    run() if sys.argv[1:] == ["run"] else main()
