"""An edit of one's own, judged as a mutant is: does a check that concerns it fail?"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from kraftcheck.checking.coverage.functions import parsed, sources_in
from kraftcheck.impact import concern, diff, targets
from kraftcheck.impact.output import run_and_report
from kraftcheck.impact.run import FAILED, UNDETERMINED
from kraftcheck.impact.targets import Sources
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import read_standard_input, read_text
from kraftcheck.support.outputs import versioned
from kraftcheck.support.places import root
from kraftcheck.support.printable import printable, shortened
from kraftcheck.support.terminal import console, heading, say


def changed_sources(text: str, where: str, sources: dict[str, str]) -> dict[str, str]:
    """The sources that a unified diff changes, by file. Nothing is written.

    Raises InputError for a diff that changes other files than those of ``sources``, does not fit them, makes
    one invalid, or changes nothing that runs.
    """
    result = dict(sources)
    for change in diff.parse(text, where):
        if change.before != change.after or change.after not in sources:
            name = shortened(printable(change.file), 80)
            raise InputError(
                f"{where}: '{name}' is no file of the reference that is there; make the diff of those alone: "
                "git diff -- reference."
            )
        result[change.after] = diff.apply(result[change.after], change, where)
    changed = {file: source for file, source in result.items() if source != sources[file]}
    if all(_tree(file, source) == _tree(file, sources[file]) for file, source in changed.items()):
        raise InputError(f"{where}: changes nothing that runs; give an edit that does.")
    return changed


def _tree(file: str, source: str) -> str:
    edited = f"{file}, as edited"
    try:
        return ast.dump(parsed(edited, source))
    except RecursionError:
        raise InputError(f"{edited}: is nested too deeply; give a simpler edit.") from None


def judge(file: str, *, threads: int, timeout: float, as_json: bool) -> int:
    """Run the checks that the diff in ``file`` concerns until one fails, and say so; the exit status.

    The diff is applied to a temporary copy of the reference. Raises InputError.
    """
    what = "a patch (a unified diff)"
    text = read_standard_input(what) if file == "-" else read_text(Path(file), what, most=diff.MAX_BYTES)
    where = "standard input" if file == "-" else file
    sources = sources_in(root())
    changed = changed_sources(text, where, sources)
    after = Sources({**sources, **changed})
    target, _ = targets.of_changes(diff.parse(text, where), after.texts, where)
    found = concern.concerned(target, after.functions)
    ran = run_and_report(found, threads, timeout, as_json=as_json, changed=changed)
    killed = next((each for each in ran if each.status == FAILED), None)
    undetermined = sum(each.status == UNDETERMINED for each in ran)
    if killed is not None:
        verdict, status = f"killed by {killed.check}", EXIT_EXPECTED
    elif undetermined or not found:
        verdict = f"undetermined: {undetermined} of {len(ran)} checks came to no result, and none failed"
        status = EXIT_UNDETERMINED
    else:
        verdict, status = f"survived all {len(ran)} checks that run what it edits", EXIT_DIFFERS
    if as_json:
        data = {"functions": sorted(target.functions), "verdict": verdict, "checks": len(ran)}
        print(json.dumps(versioned("edit-verdict", data)))
    else:
        out = console()
        heading(out, f"The edit is {verdict}." if killed else f"The edit {verdict}.")
        say(out, f"It edits {', '.join(sorted(target.functions))}.")
    return status
