"""The registry: which tools there are, each under one contract, and the only edge by which an executor is reached.

What is registered is wrapped: called directly it refuses, and a grant runs it once. In one process this keeps out mistakes, not
somebody who means harm. Whether a grant may be given is the host's to judge.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from string import Template
from typing import NoReturn

from attrs import define, field, frozen
from pydantic import JsonValue, TypeAdapter, ValidationError

from lifecycle.law import door
from lifecycle.law.tools import ToolContract
from lifecycle.law.values import canonical
from lifecycle.toolhost import schemas
from lifecycle.toolhost.errors import RegistrationError, Ungranted


@frozen
class Operation:
    """What an executor is told besides the arguments. The id is the same for every attempt of one call: the key to do it once."""

    id: str
    job: str
    call: str
    attempt: int = 1
    identity: str | None = None
    timeout: float = 60.0
    """Seconds after which the host stops waiting."""


Executor = Callable[[dict[str, JsonValue], Operation], JsonValue]
"""Does the thing. Raises NotStarted if it could not begin; whatever the contract's `errors` name, if it failed with no effect."""
Preview = Callable[[dict[str, JsonValue]], str]
"""What a person is shown of the arguments that will run."""
Resolve = Callable[[JsonValue], JsonValue]
"""The arguments with every placeholder filled in; asked again right before they run."""
Asks = Callable[[dict[str, JsonValue]], bool]
"""Whether these arguments must be asked for, where the mode is `policy`."""
Postcondition = Callable[[dict[str, JsonValue], JsonValue], bool]
"""Whether the world is as arguments and output say."""
Reconcile = Callable[[str], JsonValue]
"""The receipt of an operation, by its id, if it had its effect; None if nobody can tell."""


@frozen
class Grant:
    """Leave to run one tool once, with these arguments."""

    tool: str
    arguments: dict[str, JsonValue]
    operation: Operation
    token: str = field(factory=secrets.token_hex, repr=False)


@define(eq=False)
class Tool:
    """A registered tool: its contract, and what belongs to it. Calling it is refused; only a grant of the host runs it."""

    contract: ToolContract
    _executor: Executor = field(repr=False)
    shows: Preview | None = None
    resolve: Resolve | None = None
    asks: Asks | None = None
    postcondition: Postcondition | None = None
    reconcile: Reconcile | None = None
    _granted: dict[str, Grant] = field(factory=dict, repr=False)

    def __call__(self, *arguments: object, **named: object) -> NoReturn:
        """Refuse: there is no way past the gate."""
        raise Ungranted(self.contract.name, "it was called directly")

    def grant(self, arguments: dict[str, JsonValue], operation: Operation) -> Grant:
        """Leave to run once. The host gives it after the claim; no one else has a reason to."""
        grant = Grant(self.contract.name, arguments, operation)
        self._granted[grant.token] = grant
        return grant

    def withdraw(self, grant: Grant) -> None:
        """Take a grant back that was not used."""
        self._granted.pop(grant.token, None)

    def run(self, grant: Grant) -> JsonValue:
        """Run the executor on a grant, which is used up by that, whatever comes of it."""
        if self._granted.pop(grant.token, None) is not grant:
            raise Ungranted(self.contract.name, "the grant was used before, or is not the host's")
        return self._executor(grant.arguments, grant.operation)

    def preview(self, arguments: dict[str, JsonValue]) -> str:
        """What a person is shown: by the tool's own function, else its contract's template (`$path`), else the arguments."""
        if self.shows is not None:
            return self.shows(arguments)
        if self.contract.preview:
            return Template(self.contract.preview).substitute(arguments)
        return f"{self.contract.name} {canonical(arguments).decode()}"


class Registry:
    """Tools by name. One name has one contract, whatever is imported first."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of this name, if it is registered here."""
        return self._tools.get(name)

    def register(
        self,
        contract: ToolContract | Mapping[str, JsonValue],
        executor: Executor,
        *,
        preview: Preview | None = None,
        resolve: Resolve | None = None,
        asks: Asks | None = None,
        postcondition: Postcondition | None = None,
        reconcile: Reconcile | None = None,
    ) -> Tool:
        """Register a tool; the tool takes the executor's place, and refuses to be called. RegistrationError says why not.

        A contract from a file is a mapping. What it does not say is the worst: destructive, not idempotent, asks for consent.
        """
        known = _validated(contract)
        _judge(known, preview)
        if known.postcondition.strip() and postcondition is None:
            what = "its contract states a postcondition that nothing checks"
            raise RegistrationError(known.name, "unchecked", what, "register the function that looks at the world")
        tool = Tool(known, executor, preview, resolve, asks, postcondition, reconcile)
        if self._tools.setdefault(known.name, tool) is not tool:
            same = self._tools[known.name].contract.digest == known.digest
            what = "it is registered already" if same else "another contract has this name"
            raise RegistrationError(known.name, "name_taken", what, "register it once, or give it a name of its own")
        return tool


def _validated(contract: ToolContract | Mapping[str, JsonValue]) -> ToolContract:
    if isinstance(contract, ToolContract):
        return contract
    try:
        return _CONTRACT.validate_python(dict(contract))
    except ValidationError as error:
        name, detail = door.shown(str(contract.get("name", ""))), door.malformed(error).detail
        raise RegistrationError(name, "malformed_contract", detail, "mend these fields") from None


_CONTRACT = TypeAdapter(ToolContract)


def _judge(contract: ToolContract, preview: Preview | None) -> None:
    """Refuse a contract that could not be kept."""
    name = contract.name
    for which, schema in (("input", contract.input_schema), ("output", contract.output_schema)):
        if (which == "input" or schema is not None) and (fault := schemas.unfit(schema)):
            mend = "put all it needs into the schema itself"
            raise RegistrationError(name, "invalid_schema", f"its {which} schema: {fault}", mend)
    if contract.approval == "consent" and preview is None and not contract.preview.strip():
        mend = "give it a preview, with `$path` where the argument `path` is to stand"
        raise RegistrationError(name, "no_preview", "nobody consents to what is not shown", mend)
    if contract.effect == "destructive" and contract.retry_safe and not contract.idempotency_key:
        what = "a destructive tool that is run again blindly may destroy twice"
        raise RegistrationError(name, "idempotency", what, "have it require an idempotency key, or do not call it retry safe")
    if contract.effect == "read" and contract.idempotency_key:
        raise RegistrationError(name, "idempotency", "a read has no effect to key", "call it a write, or drop the key")
    if contract.timeout <= 0:
        raise RegistrationError(name, "no_time", "a timeout of 0 seconds lets nothing finish", "give it the seconds it needs")
