"""YAML 1.2, core schema, with the line of every key. `no` is a text, and so is `2026-12-01`.

One document of tables, lists and plain values; no tags of its own, no merge keys. Aliases may be used, but not without end.
"""

import re

from pydantic import JsonValue
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lifecycle.checks.faults import ContractError
from lifecycle.checks.layout.source import NODES, Keys, Position, Source, unreadable
from lifecycle.law.door import shown
from lifecycle.law.limits import JSON_DEPTH

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WEIRD = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAG = "tag:yaml.org,2002:"
_PLAIN = {f"{_TAG}{name}" for name in ("int", "float", "bool", "null", "timestamp", "merge", "value")}
_DIGITS = 400
"""The longest number: longer ones take time to read and are no number that a contract needs."""


def read_yaml(text: str, file: str) -> Source:
    """The source that a YAML text is; ContractError at its line if it is none, or a key stands twice."""
    try:
        node = YAML(typ="safe", pure=True).compose(text)
        reader = _Reader(file)
        data = reader.value(node, (), JSON_DEPTH) if node is not None else {}
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (mark.line + 1, mark.column + 1) if mark else None
        raise unreadable(file, f"no YAML: {shown(error.problem or 'unreadable')}", "write it as YAML 1.2", at) from None
    except (YAMLError, ValueError) as error:
        raise unreadable(file, f"no YAML: {shown(str(error).splitlines()[0])}", "write it as YAML 1.2") from None
    except RecursionError:
        raise unreadable(file, "nested too deep", "flatten it") from None
    return Source(file, data, reader.found)


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self._left = NODES
        self.found: dict[Keys, Position] = {(): (1, 1)}

    def value(self, node: Node, keys: Keys, depth: int) -> JsonValue:
        self._left -= 1
        if self._left < 0:
            raise self._error(node, f"more than {NODES} values, aliases counted", "write it without aliases")
        if depth < 0:
            raise self._error(node, f"nested deeper than {JSON_DEPTH}, or an alias inside itself", "flatten it")
        self.found.setdefault(keys, _start(node))
        match node:
            case ScalarNode():
                return self._scalar(node)
            case SequenceNode() if node.tag == f"{_TAG}seq":
                return [self.value(item, (*keys, place), depth - 1) for place, item in enumerate(node.value)]
            case MappingNode() if node.tag == f"{_TAG}map":
                return self._table(node, keys, depth)
        raise self._error(node, f"the tag `{shown(str(node.tag))}`", "leave the tag out; a contract is plain data")

    def _table(self, node: MappingNode, keys: Keys, depth: int) -> JsonValue:
        held: dict[str, JsonValue] = {}
        for key, item in node.value:
            name = key.value if isinstance(key, ScalarNode) else None
            if not isinstance(name, str):
                raise self._error(key, "a key that is no text", "write a text as the key")
            if name in held:
                raise self._error(key, f"key `{shown(name)}` stands twice", "keep one of them")
            self.found[(*keys, name)] = _start(key)
            held[name] = self.value(item, (*keys, name), depth - 1)
        return held

    def _scalar(self, node: ScalarNode) -> JsonValue:
        text = str(node.value)
        if node.tag == f"{_TAG}str":
            return text
        if node.tag not in _PLAIN:
            raise self._error(node, f"the tag `{shown(str(node.tag))}`", "leave the tag out; a contract is plain data")
        if _WEIRD.fullmatch(text) or (len(text) > _DIGITS and _FLOAT.fullmatch(text)):
            raise self._error(node, f"`{shown(text, 40)}` is no number that can be kept", "write a finite number")
        if _NULL.fullmatch(text):
            return None
        if _BOOL.fullmatch(text):
            return text.lower() == "true"
        if _INT.fullmatch(text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def _error(self, node: Node, what: str, mend: str) -> ContractError:
        return unreadable(self._file, what, mend, _start(node))


def _start(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1
