"""``kraftcheck completion``: print a script with which a shell completes commands, options and scenarios."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from kraftcheck.cli.parser import Parser
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.systems.scenario import shipped_files

_SCENARIO = "_kraftcheck_scenario"
_IN_BASH = """\
{name}() {{
  compgen -W "{scenarios}" -- "$1"
  compgen -f -- "$1"
}}
"""
_IN_ZSH = """\
{name}() {{
  _alternative 'scenarios:scenario:({scenarios})' 'files:file:_files'
}}
"""

EPILOG = """\
Needs shtab: pip install 'kraftcheck[completion]'. Then, for example:

  kraftcheck completion bash > ~/.local/share/bash-completion/completions/kraftcheck
  kraftcheck completion zsh > ~/.zfunc/_kraftcheck
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script. Raises InputError without shtab."""
    try:
        import shtab
    except ImportError:
        raise InputError("completion needs shtab: pip install 'kraftcheck[completion]'.") from None
    from kraftcheck.cli.main import COMMANDS, parser_of  # It imports this module.

    parser = parser_of(COMMANDS)
    for action in _actions(parser):
        metavar = str(action.metavar or "")
        if "SCENARIO" in metavar or "NAME|FILE" in metavar:
            action.complete = {"bash": _SCENARIO, "zsh": _SCENARIO}  # type: ignore[attr-defined]
        elif "FILE" in metavar or "PATH" in metavar:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif "DIR" in metavar or "FOLDER" in metavar:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    names = " ".join(shipped_files())
    preamble = {
        shell: text.format(name=_SCENARIO, scenarios=names)
        for shell, text in (("bash", _IN_BASH), ("zsh", _IN_ZSH))
    }
    # Its stubs know one text only; its documentation has one for each shell.
    print(shtab.complete(parser, arguments.shell, preamble=preamble))  # type: ignore[arg-type]
    return EXIT_EXPECTED


def _actions(parser: Parser | argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of ``parser`` and of the commands in it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in dict.fromkeys(action.choices.values()):
                yield from _actions(each)
        else:
            yield action
