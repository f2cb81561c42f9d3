"""HTTP on the loopback interface, within bounds: of size, of time, and of how many ask at once."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kraftcheck.explorer.web.messages import Request, Response, refusal
from kraftcheck.support.errors import InputError

LOOPBACK = "127.0.0.1"
#: The longest body of a request, in bytes; the line of a request is bounded by the library, at 65,536.
MAX_BODY = 65_536
#: How many connections there are at once; for another one the one that has been silent for longest ends.
MAX_CONNECTIONS = 32
#: After so many seconds without a byte a connection is closed.
SILENT_SECONDS = 20.0

#: Every response has these.
HEADERS = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)

Answer = Callable[[Request], Response]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SILENT_SECONDS
    # Head and body go out together: a browser would acknowledge the head alone only after 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def handle_one_request(self) -> None:
        self.server.waits(self.connection)
        try:
            super().handle_one_request()
        finally:
            self.server.works(self.connection)

    def parse_request(self) -> bool:
        """Called as soon as the first line of a request is there."""
        self.server.works(self.connection)
        return super().parse_request()

    def do_GET(self) -> None:
        self._respond(self._answer(b""))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 7 and int(length) <= MAX_BODY):
            self.close_connection = True
            self._respond(refusal(413, f"a question has at most {MAX_BODY:,} bytes, and says how many."))
            return
        self._respond(self._answer(self.rfile.read(int(length))))

    def _answer(self, body: bytes) -> Response:
        names = [name.lower() for name in self.headers]
        if len(set(names)) < len(names) or "transfer-encoding" in names:
            self.close_connection = True
            return refusal(400, "this server takes each header once, and no Transfer-Encoding.")
        try:
            target = urlsplit(self.path)
            pairs = parse_qsl(target.query, keep_blank_values=True, max_num_fields=10)
        except ValueError:
            return refusal(400, "this is no address of this server.")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.answer(Request(self.command, target.path, dict(pairs), headers, body))

    def _respond(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        for name, value in (*HEADERS, *response.headers):
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(response.body)

    def version_string(self) -> str:
        return "kraftcheck"

    def log_message(self, format: str, *values: Any) -> None:
        """Keep quiet: the terminal belongs to the command."""


class Server(ThreadingHTTPServer):
    """A server on ``port`` of the loopback interface (0: any that is free), of which ``answer`` answers.

    Raises InputError where the port is taken. Set ``answer`` before it serves.
    """

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS
    answer: Answer

    def __init__(self, port: int) -> None:
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._silent: dict[socket.socket, None] = {}  # Those that wait for a request, the longest first.
        self._silent_lock = threading.Lock()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise InputError(
                f"--port: {port} cannot be used ({error.strerror}); give another one, or 0 for any."
            ) from None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Without the name of the host, which the library would look up in the network."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def waits(self, connection: socket.socket) -> None:
        """From now on ``connection`` is silent, until :meth:`works`."""
        with self._silent_lock:
            self._silent[connection] = None

    def works(self, connection: socket.socket) -> None:
        """A request has come, or the connection ends."""
        with self._silent_lock:
            self._silent.pop(connection, None)

    def _end_silent(self) -> None:
        """End the connection that has been silent for longest, if one is: a browser opens it anew."""
        with self._silent_lock:
            connection = next(iter(self._silent), None)
            if connection is not None:
                del self._silent[connection]
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self._end_silent()
            self._free.acquire()
        self.waits(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.works(request)
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone is no error; anything else is a defect, and says so."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"kraftcheck: internal error while answering the page: {error!r}", file=sys.stderr)
