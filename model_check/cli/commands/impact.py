"""``kraftcheck impact``: find the checks that a rule, a function or a change concerns, and run them."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence

from kraftcheck.checking.coverage.functions import sources_in
from kraftcheck.impact import concern, diff, targets
from kraftcheck.impact.output import as_data, run_and_report, show
from kraftcheck.impact.run import FAILED, UNDETERMINED, Ran
from kraftcheck.impact.targets import Sources, Target
from kraftcheck.support.arguments import cores, positive, thread_count
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import MAX_BYTES
from kraftcheck.support.outputs import versioned
from kraftcheck.support.places import root
from kraftcheck.support.terminal import console, heading

_DIFFED = ("reference", "model_check/scenarios", "tests/reference", "tests/vectors")


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Exit status with --run: 1 a check failed, so the change is noticed; 0 none failed, so nothing "
        "noticed it; 3 none failed, and some came to no result."
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="RULE|FILE|FUNCTION",
        help="a rule (VOTE-9), a file of the reference (vote.py), a line of it (vote.py:118), "
        "or a function (vote.would_grant_vote)",
    )
    parser.add_argument(
        "--diff",
        nargs="?",
        const="HEAD",
        metavar="REV",
        help="what has changed in the checkout since the git revision REV (default: HEAD)",
    )
    parser.add_argument("--run", action="store_true", help="run the checks, nearest first, until one fails")
    parser.add_argument(
        "--timeout", type=positive, default=120, metavar="S", help="for one check (default: 120)"
    )
    parser.add_argument(
        "--threads", type=thread_count, default=cores(), metavar="N", help="default: all cores"
    )
    parser.add_argument("--json", action="store_true", help="print machine-readable output")
    parser.add_argument("-v", "--verbose", action="store_true", help="list all checks, not only the nearest")


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for an unknown name or revision."""
    if bool(arguments.words) == (arguments.diff is not None):
        raise InputError("name a rule, file or function, or give --diff; one of the two.")
    sources = Sources(sources_in(root()))
    target, other = _target(arguments, sources)
    found = concern.concerned(target, sources.functions)
    if arguments.json and not arguments.run:
        print(json.dumps(versioned("impact", as_data(target, found, other, sources)), indent=2))
    elif not arguments.json:
        show(console(), target, found, other, sources, everything=arguments.verbose)
    if arguments.run:
        ran = run_and_report(found, arguments.threads, arguments.timeout, as_json=arguments.json)
        return _conclude(ran, as_json=arguments.json)
    return EXIT_EXPECTED


def _target(arguments: argparse.Namespace, sources: Sources) -> tuple[Target, tuple[str, ...]]:
    if arguments.diff is None:
        return targets.of_words(arguments.words, sources), ()
    text = _diff_since(arguments.diff)
    if not text.strip():
        raise InputError(f"nothing in {', '.join(_DIFFED)} has changed since {arguments.diff[:60]}.")
    where = f"git diff {arguments.diff[:60]}"
    return targets.of_changes(diff.parse(text, where, MAX_BYTES), sources.texts, where)


def _diff_since(revision: str) -> str:
    """What git says has changed. Raises InputError where it says nothing."""
    plain = ["--relative", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--unified=0"]
    prefixes = ["--src-prefix=a/", "--dst-prefix=b/"]
    command = ["git", "diff", *plain, *prefixes, "--end-of-options", revision, "--", *_DIFFED]
    try:
        done = subprocess.run(command, cwd=root(), capture_output=True, check=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--diff: git cannot be run ({error}); name rules or functions instead.") from None
    if done.returncode != 0:
        why = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[0]
        raise InputError(f"--diff: git says of {revision[:60]!r} in {root()}: {why[:200]}.")
    return done.stdout.decode("utf-8", "replace")


def _conclude(ran: Sequence[Ran], *, as_json: bool) -> int:
    """Say what the checks came to together; the exit status."""
    failed = [each for each in ran if each.status == FAILED]
    undetermined = sum(each.status == UNDETERMINED for each in ran)
    if failed:
        text, status = f"Noticed by {failed[0].check}, check {len(ran)} of those run.", EXIT_DIFFERS
    elif undetermined:
        text = f"No check failed; {undetermined} of {len(ran)} came to no result."
        status = EXIT_UNDETERMINED
    elif not ran:
        text, status = "No recorded check runs it: nothing can be said.", EXIT_UNDETERMINED
    else:
        text, status = f"NOTHING NOTICED: {len(ran)} checks ran, and none failed.", EXIT_EXPECTED
    if as_json:
        noticed = bool(failed) if status != EXIT_UNDETERMINED else None
        print(json.dumps(versioned("impact-verdict", {"noticed": noticed, "checks": len(ran)})))
    else:
        heading(console(), text)
    return status
