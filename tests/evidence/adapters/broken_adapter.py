"""Processes that break the protocol, one way each: ``python tests/evidence/adapters/broken_adapter.py WAY``.

They answer the handshake as they should and go wrong at the first step.
"""

import json
import os
import signal
import subprocess
import sys
import time

HELLO = {
    "id": 0,
    "protocol": 1,
    "name": "broken",
    "capabilities": {"events": ["start"], "effects": ["persist"], "state": ["epoch"]},
}


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(way: str) -> None:
    if way == "ignores-its-end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(sys.argv[2], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
    sys.stdin.readline()
    if way != "silent-greeting":
        say(json.dumps(HELLO) + "\n")
    line = sys.stdin.readline()
    number = json.loads(line)["id"] if line else 0
    good = json.dumps({"id": number, "effects": [], "state": {}}) + "\n"
    if way == "dies":
        print("first line\nsegmentation fault, said the program", file=sys.stderr)
        os._exit(7)
    elif way == "is-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif way == "closes-its-output":
        os.close(1)
        time.sleep(600)
    elif way == "no-line-break":
        while True:
            say("x" * 65536)
    elif way == "not-utf8":
        sys.stdout.buffer.write(b"\xff\xfe\n")
        sys.stdout.buffer.flush()
    elif way == "chatters":
        sys.stderr.write("noise " * 200_000)
        say(json.dumps({"id": number, "error": "the end of the chatter"}) + "\n")
    elif way == "ignores-its-end":
        say(json.dumps({"id": number, "error": "the end"}) + "\n")
        time.sleep(600)
    elif way.startswith("extra"):
        say(good + {"extra-line": good, "extra-no-break-space": "\u00a0\n"}.get(way, " " * 300 + "x\n"))
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
