"""The properties and goals of the catalogue that scenarios can select.

An error about a misplaced name gives its right place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from kraftcheck import spec
from kraftcheck.spec.model import Judged, Property, PropertySystem
from kraftcheck.support.closest import did_you_mean, one_of
from kraftcheck.support.printable import printable

_LISTED = "; 'kraftcheck rules --properties' lists them"


class PropertyNames:
    """The names that scenarios of one ``system`` may select. Goals are those of the catalogue, ``goals``, and
    generated ones such as transitions (``more_goals``).

    The methods ``of_states``, ``of_behaviours`` and ``goal`` return their argument, and raise ValueError with
    a sentence for any other.
    """

    def __init__(
        self, system: PropertySystem, more_goals: Callable[[], Collection[str]], goals: tuple[str, ...] = ()
    ) -> None:
        self._system, self._more_goals, self._goals = system, more_goals, goals

    @cached_property
    def _catalogued(self) -> tuple[Property, ...]:
        return tuple(each for each in spec.load().properties.values() if each.system == self._system)

    def judged(self, *where: Judged) -> tuple[str, ...]:
        """The properties of states and steps that are judged there (see ``spec/properties.toml``)."""
        return tuple(name for name, judged in self._of_states.items() if judged in where)

    @cached_property
    def _of_states(self) -> Mapping[str, Judged]:
        return {each.name: each.judged for each in self._catalogued if each.judged is not None}

    @cached_property
    def eventually(self) -> Mapping[str, tuple[str, ...]]:
        """Each *eventually* property, with the goals of scenarios that define it."""
        return {each.name: each.goals for each in self._catalogued if each.goals}

    @cached_property
    def goals(self) -> tuple[str, ...]:
        """The goals of this system, without those that are generated."""
        return (*(each.name for each in self._catalogued if each.kind == "sometimes"), *self._goals)

    def _is_goal(self, name: str) -> bool:
        return name in self.goals or name in self._more_goals()

    def of_states(self, name: str) -> str:
        """A property of states and steps, for ``check.properties``, ``only`` and ``without``."""
        if name in self._of_states:
            return name
        if name in self.eventually:
            raise ValueError(
                f"{name} is an eventually property; ask for it in [[check.eventually]], with property = "
                f"'{name}' and goal = {one_of(self.eventually[name])}"
            )
        if self._is_goal(name):
            raise ValueError(f"{name} is a goal; ask for it in check.goals")
        raise ValueError(_unknown(name, "property", self._of_states, self._all()))

    def of_behaviours(self, name: str) -> str:
        """An *eventually* property, for ``check.eventually.property``."""
        if name in self.eventually:
            return name
        if self._of_states.get(name) == "always":
            raise ValueError(
                f"{name} is judged in every state and step without being asked for; leave it out"
            )
        if name in self._of_states:
            raise ValueError(f"{name} is a property of states and steps; ask for it in check.properties")
        if self._is_goal(name):
            raise ValueError(
                f"{name} is a goal of check.goals; property is one of {', '.join(self.eventually)}"
            )
        raise ValueError(_unknown(name, "eventually property", self.eventually, self._all()))

    def _all(self) -> tuple[str, ...]:
        return (*self._of_states, *self.eventually, *self.goals)

    def goal(self, name: str) -> str:
        """A goal to be reached, for ``check.goals``."""
        if self._is_goal(name):
            return name
        if name in self._of_states:
            asked = "ask for it in check.properties"
            if self._of_states[name] == "always":
                asked = "leave it out"
            raise ValueError(f"{name} is a property and no goal; {asked}")
        if name in self.eventually:
            raise ValueError(f"{name} is an eventually property; ask for it in [[check.eventually]]")
        near = did_you_mean(name, (*self.goals, *self._more_goals())) or did_you_mean(name, self._all())
        listed = f"; there are {', '.join(self.goals)}, and transitions such as Follower->Prospective"
        raise ValueError(f"'{printable(name[:60])}' is no goal{near or listed}")


def catalogued(name: str) -> str:
    """A name of any property of the catalogue. Raises ValueError for any other."""
    known = [each.name for each in spec.load().properties.values()]
    if name in known:
        return name
    raise ValueError(_unknown(name, "property", known))


def _unknown(name: str, what: str, known: Collection[str], others: Collection[str] = ()) -> str:
    catalogue = spec.load().properties
    if name.upper() in catalogue:
        return f"{printable(name)} is the id of {catalogue[name.upper()].name}; give its name"
    if any(each.name == name for each in catalogue.values()):
        return f"no check of scenarios of this kind judges {name}; there are {', '.join(known)}"
    near = did_you_mean(name, known) or did_you_mean(name, others) or _LISTED
    return f"'{printable(name[:60])}' is no {what}{near}"
