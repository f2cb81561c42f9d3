"""``kraftcheck explore``: step through a scenario in a browser."""

from __future__ import annotations

import argparse
import secrets
import webbrowser

from kraftcheck.explorer.start import DEFAULT, start_of
from kraftcheck.explorer.web.answers import Answers
from kraftcheck.explorer.web.guard import Guard
from kraftcheck.explorer.web.server import LOOPBACK, Server
from kraftcheck.support.arguments import flag
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.systems.other_protocol import add_protocol
from kraftcheck.traces.paths import path_argument, path_text

EPILOG = """\
The page shows what can happen next in any state, what cannot and why, and
which properties hold. Its address is the path taken.

  kraftcheck explore three-voters-elect
  kraftcheck explore my-quorum.toml --path 0,3
  kraftcheck explore counterexample.json
  kraftcheck explore 'candidate epoch=6 log=3@4,2@5'

Only this machine reaches the page, and only with the printed address, which
has a token. Ctrl-C ends it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "what",
        nargs="*",
        metavar="SCENARIO|TRACE|REPLICA",
        help=f"a scenario or its file, a trace file ('-': standard input), or replicas in the short form "
        f"(default: {DEFAULT})",
    )
    parser.add_argument(
        "--path", type=path_argument, default=(), help="begin after these options, for example 0,3,1"
    )
    add_protocol(parser)
    parser.add_argument("--port", type=_port, default=0, help="the port (default: any that is free)")
    flag(parser, "--open", says="open the page in the browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C. Raises InputError for a start that there cannot be."""
    start = start_of(arguments.what, arguments.path, arguments.protocol)
    with Server(arguments.port) as server:
        guard = Guard(server.port, secrets.token_urlsafe(24))
        server.answer = Answers(start.ground, guard).answer
        fragment = f"#path={path_text(start.path)}" if start.path else ""
        address = f"http://{LOOPBACK}:{server.port}/?token={guard.token}{fragment}"
        print(f"{start.ground.scenario.name}: {address}", flush=True)
        print("Open this address in a browser on this machine. Ctrl-C ends.", flush=True)
        if arguments.open:
            webbrowser.open(address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print()
    return EXIT_EXPECTED


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, not '{text[:40]}'")
    return int(text)
