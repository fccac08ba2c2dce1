"""The style of the house, as a test: floors, lengths, names, and what the law may not touch.

A rule is a small function that reads one file's text and yields its faults; RULES says which files it reads. FAULTS
plants one fault of each kind and ALLOWED what must not be taken for one: every rule is seen to fail and to pass.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEST_COMMAND = "pip install -e '.[test]' && pytest"

# The rooms, and what each may import of `lifecycle` beside itself. A new room gets its line here first.
WINGS = "law engine hooks machine stores diagrams checks handshake shown terminal"
PARTIES = "seat jobs aio moving telemetry toolhost worker run review manager web"
FLOORS = {
    "law": "",
    "engine": "law",
    "hooks": "law",
    "shown": "law",
    "terminal": "law",
    "machine": "law",
    "stores": "law",
    "diagrams": "law machine",
    "checks": "law",
    "handshake": "law",
    **dict.fromkeys(PARTIES.split(), "law engine checks"),
    "jobs": "law engine hooks seat stores",
    "aio": "law engine jobs",
    "moving": "law engine hooks stores",
    "telemetry": "law jobs stores",
    "worker": "law engine checks handshake",
    "run": "law engine checks jobs toolhost worker",
    "review": "law engine jobs",
    "manager": "law engine checks jobs toolhost worker run",
    "conformance": f"{WINGS} {PARTIES}",
    "__init__": f"{WINGS} {PARTIES}",
    "demo": f"{WINGS} {PARTIES} conformance __init__ cli",
    "cli": f"{WINGS} {PARTIES} conformance __init__ demo",
}

# The law's own rooms, lowest first: each may import those before it.
LAW = (
    *("states", "errors", "limits", "values", "capability", "terms", "contract", "tools", "acts", "log"),
    *("job", "deadlines", "guards", "table", "fold", "snapshot", "decide", "door", "audit"),
)

# What may be imported beside the standard library: by every room, and by one.
DATA = {"attrs", "pydantic", "pydantic_core"}
PACKAGES = {
    "checks": {"junitparser", "pathspec", "psutil", "ruamel", "tomli_w", "tree_sitter", "tree_sitter_toml"},
    "machine": {"transitions"},
    "review": {"matplotlib"},
    "stores": {"psycopg", "psycopg_pool"},
    "telemetry": {"opentelemetry"},
    "conformance": {"greenlet", "hypothesis", "junitparser", "psutil", "pytest"},
    "handshake": {"httpx"},
    "worker": {"httpx", "starlette", "uvicorn"},
    "demo": {"click", "rich"},
    "terminal": {"click", "rich"},
    "toolhost": {"jsonschema", "referencing", "rfc8785", "unidiff"},
    "cli": {"click", "rich"},
}

# What may be imported inside a function: a dependency that not every user has, and what not every start needs.
OPTIONAL = {"asyncio", "hypothesis", "matplotlib", "psycopg", "psycopg_pool", "pytest"}
LAZY = ("lifecycle/__init__.py", "lifecycle/cli/*.py", "lifecycle/stores/urls.py")

# The law reads no clock, rolls no dice, opens nothing, waits for nothing.
IMPURE = {
    *("asyncio", "concurrent", "http", "io", "logging", "multiprocessing", "os", "random", "secrets", "select"),
    *("shutil", "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid"),
}
CLOCKS = {"now", "today", "utcnow"}

BANNED = {"abstract", "base", "common", "default", "handler", "helper", "manager", "util", "v2"}
WORD = re.compile(r"[vV]\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:(?:work|root)(?![\w-])|home/\w)")

MODULE_LINES = 300  # not blank; 60 to 250 is the aim
FUNCTION_LINES = 60  # a screen

Function = ast.FunctionDef | ast.AsyncFunctionDef
Faults = Iterator[tuple[int, str]]


# Reading


def tracked() -> dict[str, str]:
    """The text of every file that is or may be committed, by its path from the root."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = sorted(path for path in listing.stdout.split("\0") if (ROOT / path).is_file())
    return {path: (ROOT / path).read_text(encoding="utf-8", errors="replace") for path in paths}


def rooms(path: str) -> list[str]:
    """The rooms that lead to a module, outermost first: `lifecycle/law/job.py` is `law`, `job`."""
    return path.removesuffix(".py").split("/")[1:]


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def imports(path: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every dotted name imported, with its line; relative ones are made absolute."""
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = [*above, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*origin, alias.name])) for alias in node.names)


def spelled(tree: ast.AST, name: str) -> Iterator[int]:
    """The lines where a name is imported or used, bare or as an attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=found) | ast.Attribute(attr=found) | ast.alias(name=found) if found == name:
                yield node.lineno


# Rules


def floors(path: str, text: str) -> Faults:
    """Each room imports only the rooms and packages that its floor allows."""
    room = rooms(path)[0]
    if room not in FLOORS:
        yield 1, f"`{room}` has no floor: give it one in FLOORS"
        return
    packages = sys.stdlib_module_names | DATA | PACKAGES.get(room, set())
    for line, dotted in imports(path, ast.parse(text)):
        top, *inner = dotted.split(".")
        other = inner[0] if inner and inner[0] in FLOORS else "__init__"
        if top != "lifecycle":
            if top not in packages:
                yield line, f"`{room}` may not import the package `{top}`"
        elif other != room and other not in FLOORS[room].split():
            yield line, f"`{room}` may not import `lifecycle.{other}`"


def law_floors(path: str, text: str) -> Faults:
    """Inside the law, each room imports only lower ones."""
    room = rooms(path)[1]
    if room != "__init__" and room not in LAW:
        yield 1, f"`law.{room}` has no floor: give it one in LAW"
        return
    lower = LAW if room == "__init__" else LAW[: LAW.index(room) + 1]
    for line, dotted in imports(path, ast.parse(text)):
        match dotted.split("."):
            case ["lifecycle", "law", *inner] if not inner or inner[0] not in lower:
                yield line, f"`law.{room}` may not import `{dotted}`"


def law_is_pure(path: str, text: str) -> Faults:
    """The law does no I/O and reads no clock."""
    tree = ast.parse(text)
    for line, dotted in imports(path, tree):
        if dotted.split(".")[0] in IMPURE:
            yield line, f"the law may not import `{dotted}`"
    for node in ast.walk(tree):
        match node:
            case (
                ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))
                | ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=name)
            ) if name in CLOCKS:
                yield node.lineno, f"the law may not read a clock: `{name}`; take the time as an argument"
            case ast.Call(func=ast.Name(id="open" | "print" | "input" as name)):
                yield node.lineno, f"the law may not call `{name}`"


def law_is_typed(path: str, text: str) -> Faults:
    """The law has no `Any`."""
    for line in spelled(ast.parse(text), "Any"):
        yield line, "the law says what it takes: no `Any`"


def no_hidden_circles(path: str, text: str) -> Faults:
    """An import that is only there for types hides a circle."""
    for line in spelled(ast.parse(text), "TYPE_CHECKING"):
        yield line, "no `TYPE_CHECKING`: mend the circle it hides"


def no_local_imports(path: str, text: str) -> Faults:
    """A function imports nothing but an optional dependency; the face and `cli` may also wait with rooms."""
    for function in functions(ast.parse(text)):
        for line, dotted in imports(path, function):
            top = dotted.split(".")[0]
            if top not in OPTIONAL and not (top == "lifecycle" and any(fnmatch(path, lazy) for lazy in LAZY)):
                yield line, f"`{function.name}` imports `{dotted}`: import it at the top"


def no_magic(path: str, text: str) -> Faults:
    """No metaclass and no `__getattr__`, but that of the lazy face."""
    tree = ast.parse(text)
    face = tree.body if path == "lifecycle/__init__.py" else []
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__getattr__" | "__getattribute__" as name) if node not in face:
                yield node.lineno, f"no `{name}`: spell the attributes out"
            case ast.ClassDef(name=name) if any(word.arg == "metaclass" for word in node.keywords):
                yield node.lineno, f"`{name}` has a metaclass"
            case ast.ClassDef(name=name) if any(isinstance(b, ast.Name) and b.id == "type" for b in node.bases):
                yield node.lineno, f"`{name}` is a metaclass"


def plain_names(path: str, text: str) -> Faults:
    """No module, class or function is named by a word that says nothing; `manager`, a party, may name its module."""
    names = [(1, room) for room in rooms(path) if room != "manager"]
    names += [(n.lineno, n.name) for n in ast.walk(ast.parse(text)) if isinstance(n, Function | ast.ClassDef)]
    for line, name in names:
        for word in WORD.findall(name):
            if word.lower().removesuffix("s") in BANNED:
                yield line, f"`{name}`: the word `{word}` says nothing; name what it is"


def documented(path: str, text: str) -> Faults:
    """Every module, public class and public function opens with a docstring."""
    tree = ast.parse(text)
    if not ast.get_docstring(tree):
        yield 1, "the module does not open with its law: a docstring"
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef) and not (node.name.startswith("_") or ast.get_docstring(node)):
            yield node.lineno, f"`{node.name}` is public and has no docstring"


def short_module(path: str, text: str) -> Faults:
    """A module is one thing."""
    lines = sum(1 for line in text.splitlines() if line.strip())
    if lines > MODULE_LINES:
        yield 1, f"{lines} lines that are not blank, over {MODULE_LINES}: it is more than one thing"


def short_functions(path: str, text: str) -> Faults:
    """A function fits a screen."""
    for function in functions(ast.parse(text)):
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield function.lineno, f"`{function.name}` has {lines} lines, over {FUNCTION_LINES}"


def no_machine_paths(path: str, text: str) -> Faults:
    """No file knows where on a machine it was written."""
    for line, words in enumerate(text.splitlines(), 1):
        if found := MACHINE_PATH.search(words):
            yield line, f"a path of one machine: `{words[found.start() :][:40]}`"


Rule = Callable[[str, str], Faults]
RULES: dict[Rule, str] = {
    floors: "lifecycle/*.py",
    law_floors: "lifecycle/law/*.py",
    law_is_pure: "lifecycle/law/*.py",
    law_is_typed: "lifecycle/law/*.py",
    no_hidden_circles: "*.py",
    no_local_imports: "lifecycle/*.py",
    no_magic: "lifecycle/*.py",
    plain_names: "lifecycle/*.py",
    documented: "lifecycle/*.py",
    short_module: "lifecycle/*.py",
    short_functions: "lifecycle/*.py",
    no_machine_paths: "*",
}

# Judging


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_is_kept(rule: Rule) -> None:
    files = {path: text for path, text in tracked().items() if fnmatch(path, RULES[rule])}
    assert [f"{path}:{line}: {fault}" for path, text in files.items() for line, fault in rule(path, text)] == []


@pytest.mark.parametrize("tool", ["ruff check .", "mypy --strict lifecycle"])
def test_the_tools_agree(tool: str) -> None:
    run = subprocess.run([sys.executable, "-m", *tool.split()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", [".ci/run", "README.md"])
def test_there_is_one_test_command(path: str) -> None:
    if not (ROOT / path).exists():
        pytest.skip(f"there is no {path} yet")
    assert TEST_COMMAND in (ROOT / path).read_text(encoding="utf-8").splitlines()


# The rules themselves

JOB, STORE = "lifecycle/law/job.py", "lifecycle/stores/memory.py"
FACE, CLI = "lifecycle/__init__.py", "lifecycle/cli/jobs.py"

FAULTS: list[tuple[Rule, str, str]] = [
    (floors, STORE, "from lifecycle.engine import Engine"),
    (floors, STORE, "from lifecycle import engine"),
    (floors, STORE, "from ..checks import run"),
    (floors, STORE, "from lifecycle import Engine"),
    (floors, STORE, "import lifecycle.diagrams.dot"),
    (floors, STORE, "def keep():\n    import lifecycle.cli"),
    (floors, STORE, "import click"),
    (floors, JOB, "import transitions"),
    (floors, JOB, "from lifecycle.machine import machine"),
    (floors, "lifecycle/engine.py", "from lifecycle.stores.memory import MemoryStore"),
    (floors, "lifecycle/seat.py", "from lifecycle.worker import Worker"),
    (floors, "lifecycle/conformance/fuzz.py", "import lifecycle.cli"),
    (floors, "lifecycle/attic.py", ""),
    (law_floors, JOB, "from lifecycle.law.guards import may_accept"),
    (law_floors, JOB, "from lifecycle.law import table"),
    (law_floors, JOB, "from lifecycle.law import Job"),
    (law_floors, JOB, "from . import decide"),
    (law_floors, JOB, "import lifecycle.law"),
    (law_floors, "lifecycle/law/attic.py", ""),
    *((law_is_pure, JOB, f"import {name}") for name in sorted(IMPURE)),
    (law_is_pure, JOB, "from os.path import join"),
    (law_is_pure, JOB, "at = datetime.now(UTC)"),
    (law_is_pure, JOB, "at = datetime.datetime.utcnow()"),
    (law_is_pure, JOB, "day = today()"),
    (law_is_pure, JOB, "at = field(factory=datetime.now)"),
    (law_is_pure, JOB, "open('log')"),
    (law_is_typed, JOB, "from typing import Any"),
    (law_is_typed, JOB, "fact: typing.Any"),
    (no_hidden_circles, JOB, "from typing import TYPE_CHECKING"),
    (no_hidden_circles, JOB, "if typing.TYPE_CHECKING: pass"),
    (no_local_imports, STORE, "def keep():\n    import json"),
    (no_local_imports, STORE, "async def keep():\n    from lifecycle.law import log"),
    (no_local_imports, CLI, "def main():\n    import json"),
    (no_magic, STORE, "def __getattr__(name): ..."),
    (no_magic, FACE, "class Face:\n    def __getattr__(self, name): ..."),
    (no_magic, STORE, "class Store(metaclass=ABCMeta): ..."),
    (no_magic, STORE, "class Store(type): ..."),
    *((plain_names, STORE, f"class Store{word.title()}: ...") for word in sorted(BANNED)),
    (plain_names, STORE, "class SQLHandler: ..."),
    (plain_names, STORE, "class Store:\n    def keep_helpers(self): ..."),
    (plain_names, "lifecycle/manager.py", "class Manager: ..."),
    (plain_names, "lifecycle/utils.py", ""),
    (plain_names, "lifecycle/common/memory.py", ""),
    (documented, STORE, "limit = 3"),
    (documented, STORE, '"""A store."""\nclass Store: ...'),
    (documented, STORE, '"""A store."""\nasync def keep(): ...'),
    (short_module, STORE, "limit = 3\n" * 301),
    (short_functions, STORE, "def keep():\n" + "    pass\n" * 60),
    (short_functions, STORE, "class Store:\n    async def keep(self):\n" + "        pass\n" * 60),
    *((no_machine_paths, "README.md", f"cd /{path}") for path in ("work/main", "work", "root", "home/ann/lifecycle")),
]

ALLOWED: list[tuple[Rule, str, str]] = [
    (floors, STORE, "import sqlite3\nfrom attrs import frozen\nfrom lifecycle.law import log\nfrom . import rows"),
    (floors, "lifecycle/diagrams/dot.py", "from lifecycle import law, machine"),
    (floors, FACE, "from lifecycle.engine import Engine"),
    (floors, CLI, "import click\nfrom lifecycle import Engine, stores\nfrom lifecycle.conformance import probes"),
    (law_floors, JOB, "import re\nfrom lifecycle.law import acts, states\nfrom .acts import Accept"),
    (law_floors, "lifecycle/law/guards.py", "from lifecycle.law.deadlines import due"),
    (law_floors, "lifecycle/law/__init__.py", "from lifecycle.law.decide import decide"),
    (law_is_pure, JOB, "from datetime import UTC, datetime, time\nlate = asked.now > job.due and job.opened(at)"),
    (law_is_typed, JOB, "def known(things): return any(things)"),
    (no_local_imports, STORE, "def connect():\n    import psycopg"),
    (no_local_imports, CLI, "def main():\n    from lifecycle.stores import memory"),
    (no_magic, FACE, "def __getattr__(name): ..."),
    (plain_names, "lifecycle/manager.py", "class SQLStore: ...\ndef basement(): ...\ndef database_v1(): ..."),
    (documented, STORE, '"""A store."""\nclass _Row: ...\nclass Store:\n    """It keeps."""\n    def keep(self): ...'),
    (short_module, STORE, "limit = 3\n\n" * 300),
    (short_functions, STORE, "@route\ndef keep():\n" + "    pass\n" * 59),
    (no_machine_paths, "README.md", "GET /worker/jobs, src/work/main, ../shared/root, https://example.org/home"),
]


def shown(value: object) -> str:
    return value.__name__ if callable(value) else repr(str(value)[:60])


@pytest.mark.parametrize(("rule", "path", "text"), FAULTS, ids=shown)
def test_a_planted_fault_is_caught(rule: Rule, path: str, text: str) -> None:
    assert list(rule(path, text))


@pytest.mark.parametrize(("rule", "path", "text"), ALLOWED, ids=shown)
def test_what_is_allowed_passes(rule: Rule, path: str, text: str) -> None:
    assert list(rule(path, text)) == []


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, _, _ in FAULTS} == set(RULES)
