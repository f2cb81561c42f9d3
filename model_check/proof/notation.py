"""The notation of the formulas in this folder's TOML files: parsed once, and built as terms of Z3.

    every r, e: votes(r, e, r) and e < epoch(r) => some n: led(e, n)

``=>`` binds least, then ``or``, ``and``, ``not``, and comparisons (``==``, ``!=``, ``<=``, ``<``). A
quantifier reaches as far as it can. A name with a prime is that of a symbol in the state after a step. The
sorts of variables follow from the symbols whose arguments they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import z3

from kraftcheck.proof.logic import Formula, State, Term, every, some
from kraftcheck.proof.vocabulary import at_most, before

_TOKEN = re.compile(r"\s*(=>|:=|==|!=|<=|[<(),:]|[A-Za-z_]\w*'?|$)", re.ASCII)
_QUANTIFIERS = {"every": every, "some": some}
_CONNECTIVES: dict[str, Callable[..., Formula]] = {
    "=>": z3.Implies,
    "or": z3.Or,
    "and": z3.And,
    "not": z3.Not,
}
_COMPARISONS: dict[str, Callable[[Term, Term], Formula]] = {
    "==": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<=": at_most,
    "<": before,
}


@dataclass(frozen=True)
class Node:
    """A part of a formula: an operator, or the name of a symbol or variable, with its arguments. ``names``
    are the variables of a quantifier.
    """

    word: str
    parts: tuple[Node, ...] = ()
    names: tuple[str, ...] = ()


@cache
def parse(text: str) -> Node:
    """The formula ``text``. Raises ValueError with the place of a mistake."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._token = ""
        self._advance()

    def _advance(self) -> str:
        """Go on to the next token; the one read."""
        read, match = self._token, _TOKEN.match(self._text, self._at)
        if match is None:
            raise ValueError(f"no formula: {self._text!r}, character {self._at + 1}")
        self._token, self._at = match[1], match.end()
        return read

    def _take(self, token: str) -> bool:
        """Whether ``token`` is the next one; then go on."""
        found = self._token == token
        if found:
            self._advance()
        return found

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise ValueError(
                f"no formula: {self._text!r}, expected {token!r} before character {self._at + 1}"
            )

    def whole(self) -> Node:
        found = self._implication()
        self._expect("")
        return found

    def _implication(self) -> Node:
        premise = self._chain("or")
        return Node("=>", (premise, self._implication())) if self._take("=>") else premise

    def _chain(self, word: str) -> Node:
        def part() -> Node:
            return self._chain("and") if word == "or" else self._unary()

        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Node(word, tuple(parts))

    def _unary(self) -> Node:
        if self._take("not"):
            return Node("not", (self._unary(),))
        if self._token in _QUANTIFIERS:
            word, names = self._advance(), [self._advance()]
            while self._take(","):
                names.append(self._advance())
            self._expect(":")
            return Node(word, (self._implication(),), tuple(names))
        one = self._term()
        return Node(self._advance(), (one, self._term())) if self._token in _COMPARISONS else one

    def _term(self) -> Node:
        if self._take("("):
            found = self._implication()
            self._expect(")")
            return found
        if not self._token[:1].isidentifier() or self._token in _CONNECTIVES:
            self._expect("a name")
        name, parts = self._advance(), list[Node]()
        if self._take("("):
            parts.append(self._term())
            while self._take(","):
                parts.append(self._term())
            self._expect(")")
        return Node(name, tuple(parts))


@dataclass(frozen=True)
class Language:
    """The meaning of names: the ``sorts`` of the arguments of symbols; ``functions`` that never change, and
    ``constants``; ``definitions`` with their parameters and formulas.
    """

    sorts: Mapping[str, tuple[z3.SortRef, ...]]
    functions: Mapping[str, Callable[..., Term]]
    constants: Mapping[str, Term]
    definitions: Mapping[str, tuple[tuple[str, ...], Node]]

    def formula(
        self, text: str, state: State, values: Mapping[str, Term] | None = None, after: State | None = None
    ) -> Formula:
        """``text`` in ``state``, with the ``values`` of free variables; of a step, also in the state
        ``after`` it. Raises KeyError for another name.
        """
        return self.build(parse(text), state, {**self.constants, **(values or {})}, after)

    def build(self, node: Node, state: State, values: Mapping[str, Term], after: State | None = None) -> Term:
        """The term ``node``, where ``values`` include those of the constants."""
        if node.word in _QUANTIFIERS:
            (body,) = node.parts
            sorts = [self._sort(name, body) for name in node.names]

            def instance(*terms: Term) -> Formula:
                bound = dict(zip(node.names, terms, strict=True))
                return self.build(body, state, {**values, **bound}, after)

            return _QUANTIFIERS[node.word](sorts, instance)
        if not node.parts:
            return values[node.word]
        parts = [self.build(each, state, values, after) for each in node.parts]
        if node.word in _COMPARISONS:
            return _COMPARISONS[node.word](*parts)
        if node.word in self.definitions:
            names, meaning = self.definitions[node.word]
            inner = {**self.constants, **dict(zip(names, parts, strict=True))}
            return self.build(meaning, state, inner, after)
        known = _CONNECTIVES.get(node.word) or self.functions.get(node.word)
        if known is None:
            known = getattr(after if node.word.endswith("'") else state, node.word.rstrip("'"))
        return known(*parts)

    def _sort(self, name: str, node: Node) -> z3.SortRef:
        found = self._sort_of(name, node)
        if found is None:
            raise ValueError(f"no symbol has the variable '{name}' as an argument")
        return found

    def _sort_of(self, name: str, node: Node) -> z3.SortRef | None:
        """The sort of the variable ``name`` in ``node``, ``None`` where nothing says it."""
        if not node.parts:
            return None
        if node.word in self.definitions:
            names, meaning = self.definitions[node.word]
            sorts: list[z3.SortRef | None] = [self._sort_of(each, meaning) for each in names]
        else:
            sorts = list(self.sorts.get(node.word.rstrip("'"), (None,) * len(node.parts)))
        for sort, part in zip(sorts, node.parts, strict=True):
            found = sort if part == Node(name) else self._sort_of(name, part)
            if found is not None:
                return found
        return None

    def update(self, text: str, values: Mapping[str, Term], state: State) -> tuple[str, Callable[..., Term]]:
        """The symbol that ``text`` gives a new meaning, ``votes(r, e, c) := true``, and that meaning.

        Arguments that are terms say where the meaning is new; other names range over all elements.
        """
        left, _, right = text.partition(":=")
        head = parse(left)
        values = {**self.constants, **values}

        def meaning(*terms: Term) -> Term:
            free, here = dict(values), []
            for part, term in zip(head.parts, terms, strict=True):
                if part.parts or part.word in values:
                    here.append((term, self.build(part, state, values)))
                else:
                    free[part.word] = term
            old = getattr(state, head.word)(*terms)
            if right.strip() == "false" and len(here) == 1:
                return z3.And(old, here[0][0] != here[0][1])
            equal = [one == other for one, other in here]
            if not equal:
                return self.build(parse(right), state, free)
            where = equal[0] if len(equal) == 1 else z3.And(*equal)
            if right.strip() == "true":
                return z3.Or(old, where)
            return z3.If(where, self.build(parse(right), state, free), old)

        return head.word, meaning
