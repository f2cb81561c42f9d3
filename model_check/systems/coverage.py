"""The kinds of coverage targets that the steps of every kind of system have, by which reports name them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kraftcheck import spec

#: The kinds of coverage targets, in the order of a report. Guards are apart (:mod:`.guards`).
ACTION, RULE, TRANSITION, MESSAGE, ERROR = "action", "rule", "transition", "message", "error"
TARGET_KINDS = (ACTION, RULE, TRANSITION, MESSAGE, ERROR)
#: Votes by the rules that decided them: ``VOTE-10 granted``, ``VOTE-10 refused``.
VOTE = "vote"
GRANTED, REFUSED = "granted", "refused"

Item = tuple[str, str]


def parse(text: str, known: Mapping[str, Iterable[str]]) -> Item | None:
    """``rule VOTE-10`` or ``action timer election`` as an item; ``None`` if ``known`` has no such name."""
    kind, _, name = text.partition(" ")
    return (kind, name) if name in known.get(kind, ()) else None


def rules_among(cited: Collection[str], chosen: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The rules among ``cited`` that belong to some of these variants (:func:`.switches.choices`), in the
    order of the catalogue; without any variant, all of them.
    """
    known = (rule for rule in spec.load().rules.values() if rule.id in cited)
    return tuple(rule.id for rule in known if not chosen or any(map(rule.belongs_to, chosen)))
