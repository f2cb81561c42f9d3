"""The coverage of scenarios together, compared with all coverage targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from kraftcheck.checking.coverage.covering import Covered, guards_of
from kraftcheck.checking.coverage.not_exercised import reason_of_silence
from kraftcheck.systems.coverage import GRANTED, REFUSED, RULE, TARGET_KINDS, VOTE
from kraftcheck.systems.guards import Guard
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import KINDS
from kraftcheck.systems.kraft.kind import REPLICAS

if TYPE_CHECKING:
    from kraftcheck.checking.run import CheckResult

_MOST_GUARDS = 5


@dataclass(frozen=True, slots=True)
class Report:
    """``covered`` by scenarios; ``known``, by kind, the names of the coverage targets of their protocols; the
    ``guards`` that were watched, by place.
    """

    covered: Covered
    known: Mapping[str, Sequence[str]]
    guards: Mapping[str, Guard]

    def exercised(self, kind: str) -> list[str]:
        """The names of a kind that are covered, in the order of ``known``; others last."""
        names = {name for what, name in self.covered.items if what == kind}
        return [name for name in self.known[kind] if name in names] + sorted(names - {*self.known[kind]})

    def never(self, kind: str) -> list[str]:
        """The names of a kind that no scenario covers."""
        names = {name for what, name in self.covered.items if what == kind}
        return [name for name in self.known[kind] if name not in names]

    def votes(self) -> dict[str, list[str]]:
        """The rules that decided votes, by result: ``both`` results, ``granted`` only, ``refused`` only."""
        ways: dict[str, set[str]] = {}
        for kind, name in sorted(self.covered.items):
            if kind == VOTE:
                rule, _, way = name.partition(" ")
                ways.setdefault(rule, set()).add(way)
        found: dict[str, list[str]] = {"both": [], GRANTED: [], REFUSED: []}
        for rule in self.known[RULE]:
            if rule in ways:
                found["both" if len(ways[rule]) == 2 else ways[rule].copy().pop()].append(rule)
        return found

    def answers(self) -> dict[str, list[Guard]] | None:
        """Guards by their answers: ``both``, ``true``, ``false``, ``never``; ``None`` if not watched."""
        if self.covered.guards is None:
            return None
        found: dict[str, list[Guard]] = {"both": [], "true": [], "false": [], "never": []}
        for place, guard in self.guards.items():
            went = [(place, answer) in self.covered.guards for answer in (True, False)]
            how = "both" if all(went) else "true" if went[0] else "false" if went[1] else "never"
            found[how].append(guard)
        return found

    def lines(self, *, verbose: bool = False) -> Iterator[tuple[str, str]]:
        """The report as lines: a label and a text each."""
        for kind in TARGET_KINDS:
            never = self.never(kind)
            total = len(self.known[kind])
            yield (
                f"{kind}s",
                f"{total - len(never):,} of {total:,}" + (f"; never: {_list(never, kind)}" if never else ""),
            )
        votes = self.votes()
        decided = {"both": "granted and refused by", GRANTED: "only granted by", REFUSED: "only refused by"}
        parts = [f"{decided[how]} {', '.join(rules)}" for how, rules in votes.items() if rules]
        yield "votes", "; ".join(parts) or "none"
        answers = self.answers()
        if answers is None:
            yield "guards", "not watched: those of interchangeable replicas are not"
        else:
            yield "guards", f"{len(answers['both'])} of {len(self.guards)} went both ways"
            for how, says in (("true", "never false"), ("false", "never true"), ("never", "never asked")):
                yield from _guards(answers[how], says, verbose)
        if not self.covered.complete:
            yield "note", "Not everything could be noted; some items reported as never may have happened."

    def as_data(self) -> dict[str, Any]:
        """The same for machines."""
        data: dict[str, Any] = {
            f"{kind}s": {"exercised": self.exercised(kind), "never": self.never(kind)}
            for kind in TARGET_KINDS
        }
        data["votes"] = self.votes()
        answers = self.answers()
        data["guards"] = answers and {
            how: [
                {"place": each.place, "function": each.function, "text": each.text, "rules": list(each.rules)}
                for each in found
            ]
            for how, found in answers.items()
        }
        return data | {"complete": self.covered.complete}


def _list(names: Sequence[str], kind: str) -> str:
    """Names; rules with the reason why they cannot decide anything, where it is known."""
    if kind != RULE:
        return ", ".join(names)
    by_reason: dict[str | None, list[str]] = {}
    for name in names:
        by_reason.setdefault(reason_of_silence(name), []).append(name)
    parts = [", ".join(by_reason.pop(None, []))]
    parts += [f"{', '.join(group)} ({reason})" for reason, group in by_reason.items()]
    return "; ".join(part for part in parts if part)


def _guards(found: Sequence[Guard], says: str, verbose: bool) -> Iterator[tuple[str, str]]:
    if not found:
        return
    shown = found if verbose else found[:_MOST_GUARDS]
    texts = [f"{each.place} in {each.function}: {_short(each.text)}" for each in shown]
    more = "" if len(shown) == len(found) else f"; and {len(found) - len(shown)} more (-v)"
    yield "", f"{says} ({len(found)}): {'; '.join(texts)}{more}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def together(results: Iterable[CheckResult]) -> Report:
    """The coverage of ``results`` together, among the targets of their protocols."""
    noted = [(result.system, result.covered) for result in results if result.covered is not None]
    systems = [system for system, _ in noted]
    covered = reduce(or_, (covered for _, covered in noted), Covered())
    return Report(covered, to_cover(systems), guards_of(systems))


def to_cover(systems: Sequence[ModelSystem]) -> Mapping[str, Sequence[str]]:
    """The coverage targets by kind, for all kinds of systems among ``systems`` together."""
    if not systems:
        return REPLICAS.to_cover(())
    known: dict[str, list[str]] = {kind: [] for kind in (*TARGET_KINDS, VOTE)}
    for each in KINDS:
        own = [system for system in systems if isinstance(system, each.values)]
        for kind, names in each.to_cover(own).items() if own else ():
            known[kind] += [name for name in names if name not in known[kind]]
    return known
