"""TOML, with the line of every key. What the file says is `tomllib`'s answer; a syntax tree only tells where it says it."""

import re
import tomllib

import tree_sitter_toml
from pydantic import JsonValue
from tree_sitter import Language, Node, Parser

from lifecycle.checks.layout.source import NODES, Keys, Position, Source, unreadable

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(text: str, file: str) -> Source:
    """The source that a TOML text is; ContractError at its line if it is none, a key stands twice, or it is too large a tree."""
    try:
        data: dict[str, JsonValue] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = str(error)
        at = _AT.search(told)
        position = (int(at[1]), int(at[2])) if at and at[1] else (text.count("\n") + 1, len(text) - text.rfind("\n"))
        what = _AT.sub("", told)
        raise unreadable(file, f"no TOML: {what[:1].lower()}{what[1:]}", "write it as TOML 1.0", position) from None
    except RecursionError:
        raise unreadable(file, "nested too deep", "flatten it") from None
    places = _Places()
    places.walk(Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node)
    if len(places.found) > NODES:
        raise unreadable(file, f"more than {NODES} values", "split the contract")
    return Source(file, data, places.found)


class _Places:
    """Where each key stands. Only texts that `tomllib` has read come here, so a key that stands twice is none."""

    def __init__(self) -> None:
        self.found: dict[Keys, Position] = {(): (1, 1)}
        self._arrays: dict[Keys, int] = {}

    def walk(self, document: Node) -> None:
        for node in document.named_children:
            match node.type:
                case "pair":
                    self._pair(node, ())
                case "table" | "table_array_element":
                    head, *pairs = [child for child in node.named_children if child.type != "comment"]
                    keys = self._table(_keys(head), _start(head), node.type == "table_array_element")
                    for pair in pairs:
                        self._pair(pair, keys)

    def _table(self, names: list[str], at: Position, again: bool) -> Keys:
        """The way to a table; a name on it that is an array of tables means the last of them."""
        keys: Keys = ()
        for place, name in enumerate(names):
            keys = (*keys, name)
            self.found.setdefault(keys, at)
            last = place == len(names) - 1
            if last and again:
                self._arrays[keys] = self._arrays.get(keys, -1) + 1
            if keys in self._arrays:
                keys = (*keys, self._arrays[keys])
                self.found.setdefault(keys, at)
        return keys

    def _pair(self, node: Node, above: Keys) -> None:
        key, value = [child for child in node.named_children if child.type != "comment"]
        keys = above
        for name in _keys(key):
            keys = (*keys, name)
            self.found.setdefault(keys, _start(key))
        self._value(value, keys)

    def _value(self, node: Node, keys: Keys) -> None:
        items = [child for child in node.named_children if child.type != "comment"]
        if node.type == "inline_table":
            for pair in items:
                self._pair(pair, keys)
        elif node.type == "array":
            for place, item in enumerate(items):
                self.found[(*keys, place)] = _start(item)
                self._value(item, (*keys, place))


def _start(node: Node) -> Position:
    return node.start_point.row + 1, node.start_point.column + 1


def _keys(node: Node) -> list[str]:
    if node.type == "dotted_key":
        return [name for child in node.named_children for name in _keys(child)]
    text = (node.text or b"").decode()
    if node.type == "bare_key":
        return [text]
    return list(tomllib.loads(f"{text} = 0"))
