"""One small reader per text format: it shares nothing with what draws, and knows no stage and no act.

Each gives the edges that stand in the text as (origin, act, by, to, guard), the stages that are marked as beginning or end, and
the stages that are nested, each with the state it stands in.
"""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from html import unescape

Edge = tuple[str | None, str, str, str, str]
LABEL = re.compile(r"(\w+) \(([^)]*)\)(?: \[([^\]]*)\])?")


@dataclass
class Read:
    """What stands in a text."""

    edges: list[Edge] = field(default_factory=list)
    initial: set[str] = field(default_factory=set)
    final: set[str] = field(default_factory=set)
    inside: dict[str, str] = field(default_factory=dict)

    def arrow(self, origin: str | None, to: str, label: str) -> None:
        found = LABEL.findall(label)
        assert LABEL.sub("", label).strip() == "", f"what is this: {label!r}"
        self.edges += [(origin, act, by, to, guard) for act, by, guard in found]
        if origin is None:
            self.initial.add(to)


def mermaid(text: str) -> Read:
    """A `stateDiagram-v2`."""
    read, frame = Read(), None
    lines = text.splitlines()
    assert lines[0] == "stateDiagram-v2"
    for line in map(str.strip, lines[1:]):
        if opened := re.fullmatch(r"state (\S+) \{", line):
            frame = opened[1]
        elif line == "}":
            frame = None
        elif ended := re.fullmatch(r"(\S+) --> \[\*\]", line):
            read.final.add(ended[1].replace("__", "."))
        elif edge := re.fullmatch(r"(\S+) --> (\S+): (.*)", line):
            label = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), edge[3].replace("<br/>", " "))
            origin = None if edge[1] == "[*]" else edge[1].replace("__", ".")
            read.arrow(origin, edge[2].replace("__", "."), label)
        elif frame and (inner := re.match(r"(\w+): <b>(\w+)</b>", line)):
            assert inner[1] == f"{frame}__{inner[2]}"
            read.inside[inner[1].replace("__", ".")] = frame
    return read


def dot(text: str) -> Read:
    """A `digraph`."""
    read, frame = Read(), None
    for line in map(str.strip, text.splitlines()):
        if opened := re.fullmatch(r'subgraph "cluster_(\w+)" \{', line):
            frame = opened[1]
        elif line == "}":
            frame = None
        elif edge := re.match(r'"([^"]+)" -> "([^"]+)" \[.*?label=<(.*?)>(?: edgetooltip=.*)?\]$', line):
            label = " ".join(unescape(re.sub(r"<[^>]*>", " ", edge[3])).split())
            read.arrow(None if edge[1] == "start" else edge[1], edge[2], label)
        elif box := re.match(r'"([^"]+)" \[', line):
            if "peripheries=2" in line:
                read.final.add(box[1])
            if frame:
                read.inside[box[1]] = frame
    return read


def plantuml(text: str) -> Read:
    """A state diagram between `@startuml` and `@enduml`."""
    read, frame = Read(), None
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("@startuml", "@enduml")
    for line in map(str.strip, lines[1:-1]):
        if opened := re.fullmatch(r"state (\w+) \{", line):
            frame = opened[1]
        elif line == "}":
            frame = None
        elif ended := re.fullmatch(r"(\w+) --> \[\*\]", line):
            read.final.add(ended[1].replace("__", "."))
        elif edge := re.fullmatch(r"(\S+) -\[\S+\]-> (\w+) : (.*)", line):
            origin = None if edge[1] == "[*]" else edge[1].replace("__", ".")
            read.arrow(origin, edge[2].replace("__", "."), edge[3].replace("\\n", " "))
        elif frame and (inner := re.match(r'state ".*" as (\w+) ', line)):
            read.inside[inner[1].replace("__", ".")] = frame
    return read


def scxml(text: str) -> Read:
    """A W3C state chart; whose act it is, and why, in the law's own namespace. The guard is told by its why."""
    read, space, law = Read(), "{http://www.w3.org/2005/07/scxml}", "{urn:lifecycle:law}"
    root = ET.fromstring(text.encode())
    assert root.tag == f"{space}scxml"
    begin = root.get("initial")
    for parent in root.iter():
        for child in parent:
            name = child.get("id", "")
            if child.tag == f"{space}final":
                read.final.add(name)
            if child.tag in (f"{space}state", f"{space}final") and parent is not root:
                read.inside[name] = parent.get("id", "")
    for state in root.iter(f"{space}state"):
        for edge in state.findall(f"{space}transition"):
            origin, why = state.get("id"), edge.get(f"{law}why", "") if edge.get("cond") else ""
            to = edge.get("target", "")
            by = edge.get(f"{law}by", "")
            read.edges.append((None if origin == begin else origin, edge.get("event", ""), by, to, why))
            if origin == begin:
                read.initial.add(to)
    return read


def markdown(text: str) -> Read:
    """Two tables: stages with their marks, edges with every why."""
    read = Read()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    for row in rows:
        if len(row) == 4 and row[1] not in ("stage", "---"):
            if row[0] != row[1]:
                read.inside[row[1]] = row[0]
            if row[3] == "final":
                read.final.add(row[1])
        elif len(row) == 5 and row[0] not in ("act", "---"):
            act, by, origin, to, why = row
            read.edges.append((None if origin == "(no job)" else origin, act, by, to, why))
            if origin == "(no job)":
                read.initial.add(to)
    return read
