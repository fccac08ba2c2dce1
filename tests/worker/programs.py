"""Worker programs for the tests of the wire: `python programs.py NAME`.

Each says wrongly, late or not at all what an honest one says.
"""

import json
import sys
import time

V = "worker/0.2"


def say(**fields: object) -> None:
    sys.stdout.write(json.dumps({"worker": V, **fields}) + "\n")
    sys.stdout.flush()


def asks():
    for line in sys.stdin:
        yield json.loads(line)


def honest(ask):
    say(nonce=ask["nonce"], answer={"free": True})


def quiet(ask):
    time.sleep(60)


def gone(ask):
    sys.stderr.write("out of memory\n")
    sys.exit(7)


def half_a_line(ask):
    sys.stdout.write('{"worker": "worker/0.2", "nonce": "')
    sys.stdout.flush()
    sys.exit(0)


def no_json(ask):
    sys.stdout.write("I am free!\n")
    honest(ask)


def wrong_types(ask):
    say(nonce=ask["nonce"], answer={"free": "perhaps"})


def other_question(ask):
    say(nonce="0" * 16, answer={"free": True})
    honest(ask)


def other_version(ask):
    sys.stdout.write(json.dumps({"worker": "worker/9", "nonce": ask["nonce"], "answer": {"free": True}}) + "\n")
    honest(ask)


def huge(ask):
    sys.stdout.write("x" * (50 << 20) + "\n")
    honest(ask)


def late(ask):
    if ask["ask"] == "free":
        time.sleep(0.6)
    say(nonce=ask["nonce"], answer={"free": True} if ask["ask"] == "free" else {})


def refuses(ask):
    say(nonce=ask["nonce"], refused="not today")


def deaf(ask):
    honest(ask)
    time.sleep(60)


if __name__ == "__main__":
    for told in asks():
        globals()[sys.argv[1]](told)
