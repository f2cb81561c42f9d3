"""What a question or a change is about: functions, rules and mutants of the reference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from kraftcheck import spec
from kraftcheck.checking.coverage.functions import PACKAGE, Function, functions_of, parsed
from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.catalogue import Edit, Mutant
from kraftcheck.impact.diff import Change, apply
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable, shortened
from kraftcheck.systems.citations import looks_like_id


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked about.

    functions: by the names of :class:`Function`; rules: those of the very lines, not all of the functions;
    mutants: those that edit the very lines, or break a rule that was asked for; checks: those that the change
    itself changes.
    """

    functions: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    mutants: frozenset[str] = frozenset()
    checks: frozenset[str] = frozenset()

    def __or__(self, other: Target) -> Target:
        return Target(
            self.functions | other.functions,
            self.rules | other.rules,
            self.mutants | other.mutants,
            self.checks | other.checks,
        )


@dataclass(frozen=True)
class Sources:
    """Sources of the reference by file, with what is in them."""

    texts: Mapping[str, str]
    functions: Mapping[str, Function] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", functions_of(self.texts))

    def at(self, file: str, lines: frozenset[int]) -> Target:
        """What is at these lines of a file."""
        found = [each for each in self.functions.values() if each.file == file and lines & {*each.lines}]
        functions = frozenset(each.name for each in found)
        rules = frozenset(
            rule
            for each in found
            if not each.is_module
            for rule in self._rules_near(each, lines & {*each.lines})
        )
        return Target(functions, rules, self._mutants_at(file, lines))

    def whole(self, functions: Iterable[Function]) -> Target:
        """Functions as a whole."""
        found = Target()
        for each in functions:
            mutants = self._mutants_at(each.file, frozenset(each.lines))
            found |= Target(frozenset({each.name}), each.rule_ids, mutants)
        return found

    def _rules_near(self, function: Function, lines: Iterable[int]) -> frozenset[str]:
        """The rules of the innermost statements around these lines that name any."""
        tree = parsed(function.file, self.texts[function.file])
        return frozenset(rule for line in lines for rule in _innermost(tree, line, function))

    def _mutants_at(self, file: str, lines: frozenset[int]) -> frozenset[str]:
        module = "kraftcheck." + file.removesuffix(".py").replace("/", ".")
        return frozenset(
            mutant.id
            for mutant in mutants().values()
            for edit in mutant.edit
            if edit.module == module and lines & self._lines_of(edit, self.texts[file])
        )

    def _lines_of(self, edit: Edit, source: str) -> frozenset[int]:
        """The lines that an edit replaces; none where it does not apply any more."""
        try:
            where = source.find(edit.find, *patch.region(source, edit, ""))
        except InputError:
            return frozenset()
        if where < 0:
            return frozenset()
        text = edit.find.strip("\n")
        first = source.count("\n", 0, where + edit.find.index(text)) + 1
        return frozenset(range(first, first + text.count("\n") + 1))


def _innermost(tree: ast.Module, line: int, function: Function) -> frozenset[str]:
    """The rules of the innermost statement around ``line`` that has any, or of the statements next to it in
    the same block: a decision is named right before it is taken.
    """
    block: list[ast.stmt] = tree.body
    found: frozenset[str] = function.rule_ids
    while True:
        around = [each for each in block if each.lineno <= line <= (each.end_lineno or each.lineno)]
        own = _named(function, around)
        next_to_it = _named(function, [each for each in block if isinstance(each, ast.Expr)])
        within = function.lines[0] <= (block[0].lineno if block else 0)
        if within and (own or next_to_it):
            found = own or next_to_it
        blocks = [
            inner
            for each in around
            for name in ("body", "orelse", "finalbody")
            if (inner := getattr(each, name, None))
            and inner[0].lineno <= line <= (inner[-1].end_lineno or inner[-1].lineno)
        ]
        if not blocks:
            return found
        block = blocks[0]


def _named(function: Function, statements: Iterable[ast.stmt]) -> frozenset[str]:
    spans = [(each.lineno, each.end_lineno or each.lineno) for each in statements]
    return frozenset(
        rule for rule, line in function.rules if any(first <= line <= last for first, last in spans)
    )


@cache
def mutants() -> Mapping[str, Mutant]:
    """The mutants of the package by id. Raises InputError if their catalogue is damaged."""
    return catalogue.shipped()


# Questions.


def of_words(words: Iterable[str], sources: Sources) -> Target:
    """What ``words`` name: rules, files, lines of files, functions. Raises InputError."""
    found = Target()
    for word in words:
        found |= _of_word(word, sources)
    return found


def _of_word(word: str, sources: Sources) -> Target:
    rule = next((each for each in spec.load().rules if each.casefold() == word.casefold()), None)
    if rule is not None:
        return _of_rule(rule, sources)
    place = re.fullmatch(r"([\w./-]+\.py)(?::(\d{1,6}))?", word)
    if place is not None:
        return _of_place(place[1], place[2], sources)
    name = word.removeprefix("kraftcheck.").removeprefix(f"{PACKAGE}.")
    same = [each for each in sources.functions.values() if name in _names_of(each)]
    if not same:
        raise InputError(_unknown(word, sources))
    if len(same) > 1:
        among = ", ".join(each.name for each in same[:8]) + (", …" if len(same) > 8 else "")
        raise InputError(
            f"'{shortened(printable(word), 60)}' is the name of {len(same)} functions: {among}; give one."
        )
    if same[0].is_module:
        return sources.whole(each for each in sources.functions.values() if each.file == same[0].file)
    return sources.whole(same)


def _names_of(function: Function) -> set[str]:
    """What a function may be called: with its package, module and class, or without."""
    dotted = function.name.replace("/", ".")
    parts = dotted.split(".")
    return {function.name} | {".".join(parts[at:]) for at in range(len(parts))}


def _of_rule(rule: str, sources: Sources) -> Target:
    functions = frozenset(each.name for each in sources.functions.values() if rule in each.rule_ids)
    known = mutants()
    broken = frozenset(each.id for each in known.values() if rule in each.rules)
    return Target(functions, frozenset({rule}), broken)


def _of_place(path: str, line: str | None, sources: Sources) -> Target:
    path = path.removeprefix("./")
    files = [each for each in sources.texts if each == path or each.endswith(f"/{path}")]
    exact = [each for each in files if each in (path, f"{PACKAGE}/{path}")]
    if not files:
        raise InputError(_unknown(path, sources))
    file = (exact or files)[0]
    if len(files) > 1 and not exact:
        raise InputError(
            f"'{shortened(path, 60)}' is the name of {' and '.join(files)}; give one with its folder."
        )
    if line is None:
        return sources.whole(each for each in sources.functions.values() if each.file == file)
    count = len(sources.texts[file].splitlines())
    if not 1 <= int(line) <= count:
        raise InputError(f"{file} has {count} lines, and no line {line}; give one of them.")
    return sources.at(file, frozenset({int(line)}))


def _unknown(word: str, sources: Sources) -> str:
    known = {name for each in sources.functions.values() for name in _names_of(each)} | {*sources.texts}
    known |= {*spec.load().rules} if looks_like_id(word.upper()) else set()
    hint = did_you_mean(word, known, most=3) or "; 'kraftcheck rules' lists the rules."
    shown = shortened(printable(word), 60)
    return f"'{shown}' is no rule, and no file or function of the reference{hint}"


# Changes.


def of_changes(
    changes: Iterable[Change], after: Mapping[str, str], where: str
) -> tuple[Target, tuple[str, ...]]:
    """What a diff changes that led to the sources ``after``, and the changed files that are neither code of
    the reference nor a check. Raises InputError where it does not fit.
    """
    changes = tuple(changes)
    of_reference = [
        each for each in changes if each.file.startswith(f"{PACKAGE}/") and each.file.endswith(".py")
    ]
    before = dict(after)
    for each in of_reference:
        before.pop(each.after, None)
        if each.before.endswith(".py"):
            before[each.before] = apply(after.get(each.after, ""), each, where, backwards=True)
    old, new = Sources(before), Sources(after)
    found, other = Target(), []
    for each in changes:
        check = _check_in(each.file)
        if each in of_reference:
            if each.before in before:
                found |= old.at(each.before, each.lines("-"))
            if each.after in after:
                found |= new.at(each.after, each.lines("+"))
        elif check is not None:
            found |= Target(checks=frozenset({check}))
        else:
            other.append(each.file)
    return found, tuple(other)


def _check_in(file: str) -> str | None:
    """The check that is in a file, ``scenario divergence`` for instance."""
    for pattern, kind in (
        (r"model_check/scenarios/\w+/([\w-]+)\.toml", "scenario"),
        (r"(tests/reference/(?:\w+/)?test_\w+\.py)", "test"),
        (r"tests/vectors/((?:[\w-]+/)*[\w-]+\.json)", "vectors"),
    ):
        if (match := re.fullmatch(pattern, file)) is not None:
            return f"{kind} {match[1]}"
    return None
