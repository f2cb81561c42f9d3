"""``kraftcheck new``: write a commented scenario to begin with."""

from __future__ import annotations

import argparse
import re
from importlib import resources
from pathlib import Path

from kraftcheck.support.arguments import flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.files import require_file_can_be_written, write_output
from kraftcheck.systems.scenario import NAME
from kraftcheck.systems.scenario_schema import text_of_schema

SCHEMA = "kraftcheck-scenario.schema.json"

EPILOG = """\
The file is a scenario that holds, with a comment at each key. Change it, and
check it:

  kraftcheck new my-quorum
  kraftcheck check my-quorum.toml

With --schema an editor that knows Taplo (Even Better TOML in VS Code)
completes keys and marks mistakes.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "name", metavar="NAME", type=_name, help="the scenario's name; the file is NAME.toml, here"
    )
    flag(parser, "--schema", says=f"also write the JSON Schema of scenarios, {SCHEMA}")


def run(arguments: argparse.Namespace) -> int:
    """Write the file. Raises InputError where it is there already."""
    path, schema = Path(f"{arguments.name}.toml"), Path(SCHEMA)
    if path.exists():
        raise InputError(f"{path}: is there already; choose another name, or move it.")
    require_file_can_be_written(path, "NAME")
    text = (resources.files("kraftcheck.cli") / "new_scenario.toml").read_text(encoding="utf-8")
    text = text.replace("NAME", arguments.name)
    if arguments.schema:
        write_output(schema, text_of_schema())
        text = f"#:schema ./{SCHEMA}\n{text}"
    write_output(path, text)
    print(f"{path}: written; next: kraftcheck check {path}")
    return EXIT_EXPECTED


def _name(text: str) -> str:
    if not re.fullmatch(NAME, text, re.ASCII):
        raise argparse.ArgumentTypeError("expected small letters, digits and '-', for example my-quorum")
    return text
