"""Tools, and the approvals that stand between a worker's calls and their effects.

    registry = Registry()
    registry.register(
        ToolContract("drop", {"type": "object", "required": ["table"]}, preview="drop table $table"),
        lambda arguments, operation: db.drop(arguments["table"]),
    )
    host = Host(jobs, registry)                          # any number of processes, one store
    asked = host.turn(job.id, [Call("c1", "drop", {"table": "orders"})])     # proposed as one set; nothing has run

    (pending,) = host.pending(by="approver")             # what a person reads: pending.calls[0].preview
    host.decide(job.id, asked.set, pending.bundle({"c1": "approved"}), by="approver")["c1"].status     # executed, once
    host.settle(job.id)                                  # after a restart, anywhere: run what was approved and not started

`Approvals(jobs)` is the approver's side alone: it needs no tools. `register_edit` and `register_test` give the two that ship.
"""

from lifecycle.law.tools import ToolContract
from lifecycle.toolhost.approvals import Approvals
from lifecycle.toolhost.calls import Call, Pending, Result, Turn
from lifecycle.toolhost.digests import digest
from lifecycle.toolhost.edit import register_edit
from lifecycle.toolhost.errors import (
    NotStarted,
    OperationBusy,
    OperationConflict,
    PolicyRefused,
    ProposalError,
    RegistrationError,
    SetNotFound,
    Ungranted,
)
from lifecycle.toolhost.host import Asked, Host
from lifecycle.toolhost.operations import Operations
from lifecycle.toolhost.policy import Policy, Profile
from lifecycle.toolhost.registry import Operation, Registry, Tool
from lifecycle.toolhost.testrun import register_test
from lifecycle.toolhost.tree import EditRefused

__all__ = [
    "Approvals",
    "Asked",
    "Call",
    "EditRefused",
    "Host",
    "NotStarted",
    "Operation",
    "OperationBusy",
    "OperationConflict",
    "Operations",
    "Pending",
    "Policy",
    "PolicyRefused",
    "Profile",
    "ProposalError",
    "RegistrationError",
    "Registry",
    "Result",
    "SetNotFound",
    "Tool",
    "ToolContract",
    "Turn",
    "Ungranted",
    "digest",
    "register_edit",
    "register_test",
]
