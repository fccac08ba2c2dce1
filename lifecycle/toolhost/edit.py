"""The tool `edit`: one file changed by a patch, if it still is what the patch was made for.

Made once per operation id, whole or not at all; what stands here is the tool, and nothing of approvals.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from attrs import frozen
from pydantic import JsonValue, TypeAdapter

from lifecycle.law.log import Store
from lifecycle.law.tools import ToolContract
from lifecycle.law.values import canonical, instant, sha256
from lifecycle.toolhost import patch as patches
from lifecycle.toolhost.errors import NotStarted
from lifecycle.toolhost.operations import Operations
from lifecycle.toolhost.registry import Operation, Registry, Tool
from lifecycle.toolhost.tree import Covers, EditRefused, Tree

_DIGEST: JsonValue = {"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"}

EDIT = ToolContract(
    name="edit",
    input_schema={
        "type": "object",
        "description": "Change one file by a unified diff. `digest` is that of the file as it is; null if there is none yet.",
        "properties": {"path": {"type": "string", "minLength": 1}, "digest": _DIGEST, "patch": {"type": "string", "minLength": 1}},
        "required": ["path", "digest", "patch"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "changed": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "digests": {"type": "object", "additionalProperties": _DIGEST},
        },
        "required": ["changed", "digests"],
        "additionalProperties": False,
    },
    effect="write",
    timeout=30.0,
    idempotency_key=True,
    errors=("EditRefused", "OperationConflict"),
    approval="policy",
    postcondition="each changed file has the digest that the receipt gives",
    preview="$path\n$patch",
)
"""Its contract. Inside the write scope the policy decides whether it asks; outside it never edits."""

_LOCKS = "edits"
_FILES = TypeAdapter(dict[str, list[tuple[str, str | None, str | None]]])
"""A plan: each file, its digest before and its digest after; the last is the one that the patch is of."""


@frozen
class Edit:
    """The executor: edits in one tree, each made once."""

    tree: Tree
    store: Store

    def __call__(self, arguments: dict[str, JsonValue], operation: Operation) -> JsonValue:
        """Make the edit, or give its receipt again. NotStarted while another edit of the same file is in flight."""
        path, patch = str(arguments["path"]), self._read(str(arguments["path"]), str(arguments["patch"]))
        old, new = self._ends(path, patch)
        with self._alone({old, new}, operation):
            return Operations(self.store).once(
                operation.id, arguments, lambda: self._plan(arguments, patch, old, new),
                lambda plan: self._make(plan, arguments, patch, operation.id), operation.timeout,
            )  # fmt: skip

    def holds(self, arguments: dict[str, JsonValue], receipt: JsonValue) -> bool:
        """Whether each changed file is as the receipt says."""
        digests = receipt.get("digests") if isinstance(receipt, dict) else None
        return isinstance(digests, dict) and all(self._digest(place) == told for place, told in digests.items())

    def _read(self, path: str, text: str) -> patches.Patch:
        try:
            return patches.read(text)
        except patches.BadPatch as error:
            raise EditRefused(path, f"the patch is malformed: {error}", "send a unified diff of this one file") from error

    def _ends(self, path: str, patch: patches.Patch) -> tuple[str, str]:
        """The file before and after the patch, both inside the scope; they differ if it is renamed."""
        bare = _names(patch.old) if patch.old is not None else _names(patch.new)
        if path not in bare:
            raise EditRefused(path, f"the patch is of `{patch.old or patch.new}`", "send a patch of this file")
        if patch.old is None or patch.new is None or path in _names(patch.new):
            place = self.tree.place(path)
            return place, place
        prefixed = patch.old != path
        target = _names(patch.new)[-1] if prefixed else patch.new
        return self.tree.place(path), self.tree.place(target)

    def _plan(self, arguments: dict[str, JsonValue], patch: patches.Patch, old: str, new: str) -> JsonValue:
        """What the files are before and will be after; EditRefused if it cannot be."""
        path, data, expected = str(arguments["path"]), self.tree.read(old), arguments["digest"]
        if (sha256(data) if data is not None else None) != expected:
            actual = sha256(data) if data is not None else "not there"
            raise EditRefused(path, f"it is not what the patch was made for: {actual}", "read it again, and make the patch anew")
        if (patch.old is None) != (data is None):
            raise EditRefused(path, "the patch makes a new file" if data is not None else "there is no file", "make the patch anew")
        if old != new and self.tree.read(new) is not None:
            raise EditRefused(path, f"there is a file at `{new}` already", "take another name")
        made = None if patch.new is None else sha256(self._made(path, patch, data or b""))
        if patch.new is None and self._made(path, patch, data or b""):
            raise EditRefused(path, "the patch removes it and leaves lines of it", "take all its lines away")
        if old == new:
            return {"files": [[old, expected, made]]}
        return {"files": [[new, None, made], [old, expected, None]]}  # written before the old one goes

    def _made(self, path: str, patch: patches.Patch, data: bytes) -> bytes:
        try:
            return patches.apply(patch, data.decode()).encode()
        except UnicodeError as error:
            raise EditRefused(path, "it is no UTF-8 text", "edit it in another way") from error
        except patches.BadPatch as error:
            raise EditRefused(path, f"the patch does not apply: {error}", "make the patch anew from the file as it is") from error

    def _make(self, plan: JsonValue, arguments: dict[str, JsonValue], patch: patches.Patch, operation: str) -> JsonValue:
        """Bring the files from before to after, from wherever a crash left them."""
        files = _FILES.validate_python(plan)["files"]
        for place, before, after in files:
            if self._digest(place) not in (before, after):
                raise EditRefused(place, "it was changed by somebody else", "read it again, and make the patch anew")
        old = files[-1][0]
        for place, _, after in files:
            if after is None:
                self.tree.remove(place)
            elif self._digest(place) != after:
                data = self._made(str(arguments["path"]), patch, self.tree.read(old) or b"")
                self.tree.replace(place, data, old, operation)
        digests: dict[str, JsonValue] = {place: after for place, _, after in files}
        changed: list[JsonValue] = [*sorted(digests)]
        return {"changed": changed, "digests": digests}

    def _digest(self, place: str) -> str | None:
        data = self.tree.read(place)
        return sha256(data) if data is not None else None

    @contextmanager
    def _alone(self, places: set[str], operation: Operation) -> Iterator[None]:
        """Be the only edit of these files; a lock whose edit died is taken over when its time is up."""
        mine: dict[str, str] = {}
        until = instant(self.store.now() + timedelta(seconds=operation.timeout))
        text = canonical([operation.id, operation.attempt, until]).decode()
        try:
            for place in sorted(places):
                key = f"{self.tree.root.resolve()}/{place}"
                was = self.store.get(_LOCKS, key)
                if (was is not None and _until(was) > self.store.now()) or not self.store.put(_LOCKS, key, text, was):
                    raise NotStarted(f"another edit of `{place}` is in flight")
                mine[key] = text
                if was is not None:
                    self.tree.discard(place, str(json.loads(was)[0]))
            yield
        finally:
            for key, held in mine.items():
                self.store.put(_LOCKS, key, None, held)


def register_edit(registry: Registry, root: Path, covers: Covers, store: Store) -> Tool:
    """Register `edit` for one tree; `covers` says which plain paths of it may be written."""
    edit = Edit(Tree(root, covers), store)
    return registry.register(EDIT, edit, postcondition=edit.holds, reconcile=Operations(store).receipt)


def _names(header: str | None) -> list[str]:
    """The paths that a name in a patch's header may stand for: as it is, and without git's `a/` or `b/`."""
    if header is None:
        return []
    return [header, header[2:]] if header[:2] in ("a/", "b/") else [header]


def _until(lock: str) -> datetime:
    return datetime.fromisoformat(json.loads(lock)[2])
