"""The server: what it answers, whom it answers, and what it takes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.engine.system import Limits
from kraftcheck.explorer.start import start_of
from kraftcheck.explorer.web import server as servers
from kraftcheck.explorer.web.answers import Answers
from kraftcheck.explorer.web.guard import Guard
from kraftcheck.explorer.web.messages import Request, Response
from kraftcheck.explorer.web.server import Server
from kraftcheck.support.errors import InputError
from tests.explorer.walks import ground_of

PORT = 8437
TOKEN = "the-token"
COOKIE = f"kraftcheck-{PORT}={TOKEN}"
HERE = {"host": f"127.0.0.1:{PORT}", "cookie": COOKIE}
ORIGIN = f"http://127.0.0.1:{PORT}"

ANSWERS = Answers(
    ground_of("three-voters-crash"), Guard(PORT, TOKEN), Limits(max_states=2_000, max_seconds=60.0)
)


def get(target: str, headers: Mapping[str, str] = HERE, /, **arguments: str) -> Response:
    return ANSWERS.answer(Request("GET", target, arguments, headers))


def said(response: Response) -> Any:
    return json.loads(response.body)


def test_the_page_and_its_cookie() -> None:
    found = get("/", {"host": f"localhost:{PORT}"}, token=TOKEN)
    assert found.status == 200 and found.content_type.startswith("text/html")
    assert dict(found.headers)["Set-Cookie"] == f"{COOKIE}; HttpOnly; SameSite=Strict; Path=/"
    text = found.body.decode()
    assert "default-src 'none'" in text and "connect-src 'self'" in text
    assert TOKEN not in text and "https://" not in text.replace("http://www.w3.org", "")


def test_a_path_and_its_end() -> None:
    whole, end = said(get("/walk", path="0,0")), said(get("/here", path="0,0"))
    assert whole["here"] == end and end["path"] == [0, 0]
    assert len(whole["document"]["steps"]) == 2
    later = said(get("/walk", path="0,0", known="1"))
    assert later["known"] == 1 and later["document"]["steps"] == whole["document"]["steps"][1:]
    assert later["document"]["arrows"] == whole["document"]["arrows"] and later["here"] == end
    assert said(get("/walk", path="0,0", known="9"))["document"]["steps"] == []
    assert said(get("/here", path="none")) == said(get("/here"))
    assert said(get("/preview", path="0", option="0"))["step"]["rules"]
    assert said(get("/save", path="0", **{"as": "trace"}))["name"] == "three-voters-crash.json"


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("/here", {"path": "x"}),
        ("/here", {"path": "-1"}),
        ("/here", {"path": "99"}),
        ("/walk", {"path": "0," * 20_000 + "0"}),
        ("/walk", {"path": ",".join(["0"] * 5_000)}),
        ("/walk", {"path": "<script>"}),
        ("/walk", {"path": "٣"}),
        ("/preview", {"path": "0", "option": "0,0"}),
        ("/preview", {"path": "0", "option": ""}),
        ("/save", {"path": "0", "as": "../../etc"}),
    ],
)
def test_a_hostile_question_gets_a_sentence(target: str, arguments: dict[str, str]) -> None:
    found = get(target, **arguments)
    sentence = said(found)["error"]
    assert found.status == 400 and sentence.endswith(".") and "\n" not in sentence and len(sentence) < 300


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"host": f"127.0.0.1:{PORT}"}),  # no token
        (403, {**HERE, "cookie": f"kraftcheck-{PORT}=another"}),
        (403, {**HERE, "cookie": f"kraftcheck-{PORT + 1}={TOKEN}"}),  # the cookie of another server
        (403, {**HERE, "cookie": "\x00=;;=,"}),
        (421, {**HERE, "host": "attacker.example"}),  # DNS rebinding
        (421, {**HERE, "host": f"attacker.example:{PORT}"}),
        (421, {**HERE, "host": f"127.0.0.1:{PORT + 1}"}),
        (421, {"cookie": COOKIE}),
        (403, {**HERE, "origin": "http://attacker.example"}),
        (403, {**HERE, "origin": "null"}),
        (403, {**HERE, "origin": f"http://127.0.0.1:{PORT + 1}"}),
        (403, {**HERE, "sec-fetch-site": "cross-site"}),
        (403, {**HERE, "sec-fetch-site": "same-site"}),  # another port of this machine
    ],
)
def test_whom_it_does_not_answer(status: int, headers: dict[str, str]) -> None:
    for target in ("/here", "/walk", "/save", "/preview"):
        assert get(target, headers).status == status
    posted = ANSWERS.answer(Request("POST", "/check", {}, {"origin": ORIGIN, **headers}, b'{"path": ""}'))
    assert posted.status == status


def test_the_token_in_an_address_opens_the_page_alone() -> None:
    bare = {"host": f"127.0.0.1:{PORT}"}
    assert get("/here", bare, token=TOKEN).status == 403
    assert get("/", bare, token="guess").status == 403
    assert get("/", bare, token="").status == 403
    assert get("/", {**bare, "host": "attacker.example"}, token=TOKEN).status == 421


def test_a_post_needs_the_origin_of_the_page() -> None:
    assert ANSWERS.answer(Request("POST", "/check", {}, HERE, b'{"path": ""}')).status == 403
    for body in (b"", b"[]", b"{}", b'{"path": 1}', b"[" * 60_000, b"\xff"):
        found = ANSWERS.answer(Request("POST", "/check", {}, {**HERE, "origin": ORIGIN}, body))
        assert found.status == 400 and "error" in said(found)
    assert get("/check").status == 404 and get("/../etc/passwd").status == 404


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_asked_there_is_an_answer(path: str, option: str, form: str) -> None:
    for target in ("/walk", "/preview", "/save"):
        found = get(target, **{"path": path, "option": option, "as": form})
        assert found.status in (200, 400) and said(found)


@pytest.mark.slow
def test_a_check_from_a_path() -> None:
    ground = ground_of("finding-second-leader-of-epoch")
    answers = Answers(ground, Guard(PORT, TOKEN))
    path = "2,5,3,2,0,0,0,0,4,1,2,1,1,1,1,3,1,1,1,1,3"
    question = json.dumps({"path": path}).encode()
    found = said(answers.answer(Request("POST", "/check", {}, {**HERE, "origin": ORIGIN}, question)))
    assert found["verdict"] == "violated" and found["limit"] is None
    (violation,) = found["violations"]
    assert violation["property"] == "SingleLeaderPerEpoch" and violation["steps"] == 3
    assert ground.walk(tuple(violation["path"])).violated == ("SingleLeaderPerEpoch",)
    limited = said(
        ANSWERS.answer(Request("POST", "/check", {}, {**HERE, "origin": ORIGIN}, b'{"path": "0"}'))
    )
    assert limited["verdict"] == "undetermined" and limited["limit"] == "max_states"


# Over a socket.


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(0)
    found.answer = Answers(start_of(["three-voters-crash"]).ground, Guard(found.port, TOKEN)).answer
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()


def raw(server: Server, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as end:
        end.sendall(text)
        end.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: end.recv(65_536), b""))


def test_over_http(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    headers = {"Cookie": f"kraftcheck-{server.port}={TOKEN}"}
    for _ in range(2):  # the connection stays open
        client.request("GET", "/here?path=0", headers=headers)
        response = client.getresponse()
        assert response.status == 200 and json.loads(response.read())["path"] == [0]
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Python" not in response.headers["Server"]
    client.close()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\n\r\n", 421),
        (b"POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 413),
        (b"POST /check HTTP/1.1\r\nHost: x\r\n\r\n", 413),
        (b"POST /check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: attacker.example\r\n\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /?" + b"&".join([b"a=1"] * 50) + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_requests_out_of_bounds(server: Server, text: bytes, status: int) -> None:
    found = raw(server, text)
    assert b" %d " % status in found.split(b"\r\n")[0] or (status == 400 and b"Error code: 400" in found)
    assert b"Traceback" not in found


@pytest.mark.slow
def test_connections_that_say_nothing_do_not_stop_others(server: Server) -> None:
    many = 2 * servers.MAX_CONNECTIONS
    idle = [socket.create_connection(("127.0.0.1", server.port), timeout=5) for _ in range(many)]
    assert b" 421 " in raw(server, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    for each in idle:
        each.close()


def test_silent_connections_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers._Handler, "timeout", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as end:
        assert end.recv(10) == b""


def test_a_port_that_is_taken(server: Server) -> None:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    with pytest.raises(InputError, match=r"^--port: \d+ cannot be used"):
        Server(taken.getsockname()[1])
    taken.close()
