"""``check.ignore-fatal``: how a scenario looks past a finding about a process that exits."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.support.errors import InputError
from tests.systems.kraft.small import changed

_FINDING = "finding-removed-voter-acknowledges"


@pytest.mark.parametrize(
    ("ignored", "violated"),
    [
        ([], ["NoFatal"]),
        (["acknowledged-by-non-voter"], []),
        (["leader-without-endpoints"], ["NoFatal"]),
    ],
)
def test_an_ignored_fatal_is_not_judged_and_any_other_is(ignored: list[str], violated: list[str]) -> None:
    found = check(changed(_FINDING, check={"ignore-fatal": ignored})).exploration.violations
    assert [each.property for each in found] == violated


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("acknowledged-by-non-voters", "; did you mean 'acknowledged-by-non-voter'?"),
        ("a process exits", "; docs/reference.md lists them"),
    ],
)
def test_an_unknown_reason_is_refused(name: str, help: str) -> None:
    with pytest.raises(InputError) as refusal:
        changed(_FINDING, check={"ignore-fatal": [name]})
    told = f"check.ignore-fatal.0: '{name}' is no reason for which a process exits{help}"
    assert told in str(refusal.value)
