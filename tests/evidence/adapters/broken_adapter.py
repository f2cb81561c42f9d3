"""Adapters that do not keep to the protocol, one way each: ``python tests/evidence/adapters/broken_adapter.py
WAY``.

They answer the handshake as they should and go wrong at the first step.
"""

import json
import os
import signal
import subprocess
import sys
import time


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def hello(number: int, **changes: object) -> str:
    shown = {"events": ["start"], "effects": ["persist"], "state": ["epoch"]}
    greeting = {"id": number, "protocol": 1, "name": "broken", "capabilities": shown}
    return json.dumps({**greeting, **changes}) + "\n"


def wrong_answer(way: str, number: int) -> str:
    """What is said to the first step."""
    good = json.dumps({"id": number, "effects": [], "state": {}}) + "\n"
    return {
        "not-json": "Starting up...\n",
        "not-utf8": "",
        "wrong-id": json.dumps({"id": 99}) + "\n",
        "no-id": "{}\n",
        "an-array": "[1]\n",
        "effects-no-list": json.dumps({"id": number, "effects": 5}) + "\n",
        "unknown-effect": json.dumps({"id": number, "effects": [{"effect": "smile"}]}) + "\n",
        "state-no-object": json.dumps({"id": number, "effects": [], "state": []}) + "\n",
        "huge-number": '{"id": ' + "9" * 10_000 + "}\n",
        "deep": "[" * 100_000 + "\n",
        "key-twice": '{"id": 1, "id": 1}\n',
        "error": json.dumps({"id": number, "error": "no such store"}) + "\n",
        "extra-line": good + good,
        "extra-no-break-space": good + "\u00a0\n",
        "extra-blanks-and-more": good + " " * 300 + "x\n",
        "pretty-printed": json.dumps(json.loads(good), indent=1) + "\n",
        "ends-in-the-middle": good[:-4] + "\n",
        "escape-codes": "\x1b[31m\x07\n",
        "number-of-no-field": good.replace("[]", '[{"effect": "flush", "to": 9223372036854775808}]'),
    }.get(way, "")


def main(way: str) -> None:
    if way == "ignores-its-end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(sys.argv[2], "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
    line = sys.stdin.readline()
    greetings = {
        "other-version": hello(0, protocol=2),
        "no-capabilities": hello(0, capabilities=None),
        "unknown-capability": hello(
            0, capabilities={"events": ["start", "dance"], "effects": [], "state": []}
        ),
        "no-start": hello(0, capabilities={"events": [], "effects": [], "state": []}),
        "silent-greeting": "",
    }
    say(greetings.get(way, hello(0)))
    if way in greetings and way != "silent-greeting":
        sys.stdin.read()
        return
    line = sys.stdin.readline()
    number = json.loads(line)["id"] if line else 0
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
    elif way == "chatters":
        sys.stderr.write("noise " * 200_000)
        say(json.dumps({"id": number, "error": "the end of the chatter"}) + "\n")
    elif way == "ignores-its-end":
        say(json.dumps({"id": number, "error": "the end"}) + "\n")
        time.sleep(600)
    say(wrong_answer(way, number))
    if way == "not-utf8":
        sys.stdout.buffer.write(b"\xff\xfe\n")
        sys.stdout.buffer.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
