"""The command: it prints one address, and Ctrl-C ends it, also while the checker runs."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("checking", [False, True])
def test_the_command_serves_until_it_is_ended(number: signal.Signals, checking: bool) -> None:
    words = [sys.executable, "-m", "kraftcheck", "explore", "nightly-three-to-four-voters", "--path", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        name, _, address = process.stdout.readline().strip().partition(": ")
        where = urlsplit(address)
        assert name == "nightly-three-to-four-voters" and where.fragment == "path=0"
        assert where.hostname == "127.0.0.1" and where.port is not None
        client = http.client.HTTPConnection("127.0.0.1", where.port, timeout=20)
        client.request("GET", f"/?{where.query}")
        response = client.getresponse()
        cookie = str(response.headers["Set-Cookie"]).partition(";")[0]
        assert b"What can happen next" in response.read()
        if checking:
            headers = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{where.port}"}
            client.request("POST", "/check", json.dumps({"path": ""}), headers)
            threading.Event().wait(3)
        process.send_signal(number)
        try:
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()  # Otherwise the test would wait for a process that heeds no signal.
        assert process.stderr.read() == ""
