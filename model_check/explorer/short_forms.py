"""A scenario that begins with replicas in the short form; the others are as the given ones know them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.reference.replica import Replica
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.text.replica import FORMS, parse_replica, print_replica
from kraftcheck.systems.scenario import Scenario

#: The largest epoch that leaves room for another election within what a scenario may have.
_LARGEST_EPOCH = 19


def is_short_form(word: str) -> bool:
    """Whether ``word`` describes a replica."""
    return word.strip().split(" ")[0].partition("(")[0] in FORMS and not word.endswith(".toml")


def scenario_of(words: Sequence[str]) -> Scenario:
    """The scenario of the replicas that ``words`` describe, an append, a crash and one more epoch.

    The voters are those of the first one. A voter that is not given leads if another one names it as the
    leader; else it follows that leader, or knows none. Raises InputError for states that cannot be those of
    one cluster.
    """
    given: dict[int, Replica] = {}
    texts: dict[str, str] = {}
    for word in words:
        replica = parse_replica(word)
        if replica.id in given:
            raise InputError(f"two of the replicas have the id {replica.id}; give others id=NUMBER.")
        given[replica.id] = replica
        texts[str(replica.id)] = without_own_words(print_replica(replica))
    newest = max(given.values(), key=lambda replica: replica.epoch)
    if newest.epoch > _LARGEST_EPOCH:
        raise InputError(
            f"epoch={newest.epoch}: a scenario goes up to epoch 20; give {_LARGEST_EPOCH} or less."
        )
    voters = next(iter(given.values())).voters.ids
    texts |= {str(id): text for id, text in _others(newest, [id for id in voters if id not in given])}
    return scenario.from_data(
        _data(voters, [id for id in given if id not in voters], texts, newest), "REPLICA"
    )


def without_own_words(text: str) -> str:
    """A replica in the short form without what a scenario gives by itself."""
    return " ".join(word for word in text.split() if not word.startswith(("id=", "voters=", "endpoints=")))


def _others(newest: Replica, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
    log = next((word for word in print_replica(newest).split() if word.startswith("log=")), "")
    leader = newest.quorum_state.leader
    for id in ids:
        if id == leader:
            yield id, f"leader epoch={newest.epoch} {log}".strip()
        elif leader is not None:
            yield id, f"follower epoch={newest.epoch} leader={leader} {log}".strip()
        else:
            yield id, f"unattached epoch={newest.log.last_epoch} {log}".strip()


def _data(
    voters: Sequence[int], observers: Sequence[int], texts: Mapping[str, str], newest: Replica
) -> dict[str, Any]:
    return {
        "name": "explored",
        "about": "Replicas given in the short form.",
        "replicas": {"voters": list(voters), "observers": list(observers), "initial": dict(texts)},
        "network": {"capacity": 8},
        "budgets": {"appends": 1, "crashes": 1},
        "bounds": {"max-epoch": newest.epoch + 1},
        "expect": {"verdict": "holds"},
    }
