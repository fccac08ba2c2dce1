"""The command line: one function per verb, one module per family of verbs.

The only room that reads the environment, picks a store by it, and prints. Every verb takes `--json`. A refusal, a missing job, a
store that cannot be opened: one line on stderr and exit 1. A call that is not understood: exit 2.
"""

import click

from lifecycle.cli import approving, conforming, contracts, demo, fuzzing, jobs, keeping, machine, negotiating, reviewing, running
from lifecycle.cli.options import Verbs


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="lifecycle")
def main() -> None:
    """Delegated jobs that obey one explicit finite-state machine.

    \b
    lifecycle demo                          nine states, real worker processes, under 20 seconds
    lifecycle run CONTRACT -- WORKER...     have a worker do what a contract asks, and judge it
    lifecycle jobs                          what there is
    lifecycle show JOB                      one job: where it stands, who may do what
    lifecycle submit JOB --by coder '{"act": "accept"}'
    lifecycle table                         every edge there is
    lifecycle fuzz memory:                  try the machine in every way there is
    lifecycle conform ./my-worker           does a worker keep the twenty musts
    """


for _family in (demo, running, contracts, approving, reviewing, jobs, keeping, machine, fuzzing, conforming, negotiating):
    for _verb in _family.VERBS:
        main.add_command(_verb)
