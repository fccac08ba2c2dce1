"""The program in which a callable check is called: `called.py module:function arguments.json answer.json`.

It is run by its path in a child process, so it imports nothing but the standard library. The answer is a JSON list: passed, failed
or unavailable, and words.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from operator import attrgetter


def answer(entry_point: str, arguments: object) -> tuple[str, str]:
    """What the function comes to. One that is not here is unavailable; one that raises, or answers otherwise, has failed."""
    module, _, name = entry_point.partition(":")
    try:
        function: Callable[..., object] = attrgetter(name)(importlib.import_module(module))
    except ModuleNotFoundError as error:
        return "unavailable", f"there is no module `{error.name}`"
    except AttributeError:
        return "unavailable", f"`{module}` has no `{name}`"
    except Exception as error:
        return "failed", f"`{module}` cannot be imported: {type(error).__name__}: {error}"
    try:
        if isinstance(arguments, dict):
            got = function(**arguments)
        elif isinstance(arguments, list):
            got = function(*arguments)
        else:
            got = function() if arguments is None else function(arguments)
    except Exception as error:
        return "failed", f"raised {type(error).__name__}: {error}"
    if got is True:
        return "passed", "returned True"
    if got is False:
        return "failed", "returned False"
    return "failed", got if isinstance(got, str) and got else f"returned {got!r}; return True, or a text why not"


def main(entry_point: str, asked: str, told: str) -> None:
    """Read the arguments, call, write the answer."""
    with open(asked, encoding="utf-8") as file:
        arguments = json.load(file)
    sys.path.append(os.getcwd())
    status, words = answer(entry_point, arguments)
    with open(told, "w", encoding="utf-8") as file:
        json.dump([status, words.replace("\x00", "\ufffd")[:2_000]], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
