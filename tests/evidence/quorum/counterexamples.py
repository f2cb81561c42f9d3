"""The counterexamples of shipped scenarios: which ones replicas take, and the findings that they are."""

from __future__ import annotations

from kraftcheck.checking.findings import known_findings, recognised
from kraftcheck.checking.run import CheckResult
from kraftcheck.evidence.quorum.chosen import obstacle
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import shipped
from kraftcheck.traces import Trace

#: The scenarios of CI that violate a property.
VIOLATED = {
    each.name: each for each in shipped().values() if each.expect.verdict == "violated" and "ci" in each.tags
}
#: Findings whose counterexamples are found at once. Between them: an initial leader, given states, a disk
#: that is replaced, crashes between effects, with and without loss of power, and cycles.
QUICK = (
    "finding-wiped-leader",
    "finding-single-voter-power-loss",
    "finding-removal-before-flush",
    "finding-restart-before-write-back",
    "finding-leader-removal-timed-out",
    "finding-removed-voter-acknowledges",
)
#: Of up to millions of states: by day the counterexamples that the site keeps are judged, which are as short
#: as the shortest that exist (`expect.steps`), at night those that an exploration finds.
LARGE = (
    "brokers-data-former-life",
    "finding-acts-by-a-truncated-set",
    "finding-elected-by-static-voters",
    "finding-leader-skips-its-own-records",
    "finding-removal-takes-back-another",
    "finding-snapshot-with-a-skipped-set",
    "finding-truncated-voter-sets-diverge",
    "finding-voter-set-after-truncation",
)
#: The others whose counterexamples replicas can take.
TAKEN = [
    name
    for name, each in VIOLATED.items()
    if isinstance(each, KRaftScenario) and obstacle(each) is None and name not in QUICK
]
_OWN = {name: known.id for known in known_findings() for name in known.scenarios}


def is_recognised(result: CheckResult) -> bool:
    """Whether all counterexamples of ``result``, those found first and the simplest, are recognised as the
    finding that the scenario shows, or as none.
    """
    found = [recognised(trace) for trace in result.traces(seek=False)]
    found += [recognised(trace) for trace in result.traces()]
    return {known and known.id for known in found} == {_OWN.get(result.scenario.name)}


def looks_as_it_should(trace: Trace) -> bool:
    """Whether a counterexample is recognised as the finding that its scenario shows, and is a shortest."""
    known = recognised(trace)
    expected = _OWN.get(trace.scenario.name), trace.scenario.expect.steps
    return (known and known.id, len(trace.steps)) == expected
