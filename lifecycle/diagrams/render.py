"""SVG and PNG of a DOT text, by a Graphviz that pip can bring: `pip install 'lifecycle[diagrams]'`.

The package `graphviz-pure` carries one program that needs nothing else and writes the same bytes on every platform. Where it is
not, the `dot` of an installed Graphviz draws. The text goes in by stdin, with no shell between; nothing is fetched.
"""

import shutil
import subprocess
import sysconfig

from lifecycle.law.errors import LifecycleError

PROGRAMS = ("graphviz-pure", "dot")
"""Which programs may draw, the first that is there."""
SECONDS = 60
"""How long a drawing may take: a machine takes under one, a tree of a thousand jobs some."""


class NotDrawn(LifecycleError):
    """A picture could not be made; the text it would be made of always can."""


def render(text: str, form: str) -> bytes:
    """The picture of a DOT text; NotDrawn if no program is there to draw it, or if it fails."""
    program = drawer()
    if program is None:
        raise NotDrawn("nothing here draws SVG or PNG; to mend it, `pip install graphviz-pure`, or install Graphviz (`dot`)")
    resolution = ["-Gdpi=144"] if form == "png" else []
    try:
        asked = [program, f"-T{form}", *resolution]
        run = subprocess.run(asked, input=text.encode(), capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotDrawn(f"`{program}` did not draw: {error}") from error
    if run.returncode != 0:
        raise NotDrawn(f"`{program}` did not draw: {run.stderr.decode(errors='replace').strip()[:300]}")
    return run.stdout


def drawer() -> str | None:
    """The program that draws: beside this Python, or on the path."""
    beside = sysconfig.get_path("scripts")
    found = (shutil.which(name, path=beside) or shutil.which(name) for name in PROGRAMS)
    return next((program for program in found if program), None)
