"""The contract file, its checks run for real, and the verdict that rests on their records.

    from lifecycle import checks

    contract = checks.read("contract.toml")                    # TOML or YAML; ContractError names the line
    workspace = checks.Workspace.at("checkout", base="HEAD")   # before the work begins
    ...                                                        # the job is requested on the contract, done, delivered
    records = checks.run_after(handle.job, workspace)          # acceptance, invariants, write scope; on one snapshot
    handle.seat("verifier").submit(checks.verdict(handle.job, records))

`lint` names what two honest reviewers could judge differently, `new` writes a contract to begin with, `run` runs one check,
`run_before` what must hold before the work. Programs run with a scrubbed environment, in a fresh copy of the worker's tree with the
test runner's configuration, and everything outside the write scope, taken from the base. **That is not a sandbox**: product code
runs with the user's rights, and tests run in one process with it. POSIX only; needs the extra `checks`.
"""

from lifecycle.checks.contract_file import Format, dumps, new, parse, read, schema, write
from lifecycle.checks.faults import ContractError, ContractFault, NoAuthority, Undecided, WorkspaceError
from lifecycle.checks.lint import Finding, lint
from lifecycle.checks.outcome import Answer
from lifecycle.checks.runner import Skip, run, run_after, run_before
from lifecycle.checks.scope import inside
from lifecycle.checks.verifier import Judgement, Word, judge, verdict
from lifecycle.checks.workspace import Workspace

__all__ = [
    "Answer",
    "ContractError",
    "ContractFault",
    "Finding",
    "Format",
    "Judgement",
    "NoAuthority",
    "Skip",
    "Undecided",
    "Word",
    "Workspace",
    "WorkspaceError",
    "dumps",
    "inside",
    "judge",
    "lint",
    "new",
    "parse",
    "read",
    "run",
    "run_after",
    "run_before",
    "schema",
    "verdict",
    "write",
]
