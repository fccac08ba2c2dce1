"""Finds why the test is flaky, it measures real waits with chance in them, and lets the test hold the clock and the chance."""

from pathlib import Path

from editing import FLAKY, TEST, edit

from lifecycle.law.acts import Deliver
from lifecycle.worker import Desk, serve

STEADY = """\
    waits: list[float] = []
    with pytest.raises(OSError):
        retry(fails, sleep=waits.append, jitter=lambda: 0.5)
    assert len(calls) == 3
    assert waits == pytest.approx([0.015, 0.03])
"""


def work(desk: Desk) -> Deliver:
    desk.progress("the test times real sleeps of random length", TEST)
    old = Path(TEST).read_text()
    if FLAKY in old:
        edit(desk, TEST, old.replace(FLAKY, STEADY).replace("import time\n\n", ""))
    run = desk.call("test", argv=["python", "-m", "pytest", "tests/test_public.py"])
    assert isinstance(run, dict)
    shows = f"{TEST} holds the clock; tests/test_public.py {run['status']}"
    return desk.done(TEST, met={"stable": shows, "sensitive": f"{TEST} still counts three calls", "regression": shows})


if __name__ == "__main__":
    serve(work)
