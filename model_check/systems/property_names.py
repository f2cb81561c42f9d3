"""The names of the properties and goals that scenarios can select; an error about a misplaced name gives its
right place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from kraftcheck import spec
from kraftcheck.support.closest import did_you_mean, one_of
from kraftcheck.support.printable import printable

_LISTED = "; 'kraftcheck rules --properties' lists them"


@dataclass(frozen=True, slots=True)
class PropertyNames:
    """The properties and goals that scenarios of one kind may select. ``always``: those that are judged by
    default; ``on_request``: the other properties of states and steps; ``eventually``: each *eventually*
    property, with the goals that define it; ``goals``: those of the catalogue; ``more_goals``: generated
    ones, such as transitions.

    The methods return their argument, and raise ValueError with a sentence for any other.
    """

    always: tuple[str, ...]
    on_request: tuple[str, ...]
    eventually: Mapping[str, tuple[str, ...]]
    goals: tuple[str, ...]
    more_goals: Callable[[], Collection[str]]

    def of_states(self, name: str) -> str:
        """A property of states and steps, for ``check.properties``, ``only`` and ``without``."""
        known = (*self.always, *self.on_request)
        if name in known:
            return name
        if name in self.eventually:
            raise ValueError(
                f"{name} is an eventually property; ask for it in [[check.eventually]], with property = "
                f"'{name}' and goal = {one_of(self.eventually[name])}"
            )
        if name in self.goals or name in self.more_goals():
            raise ValueError(f"{name} is a goal; ask for it in check.goals")
        raise ValueError(_unknown(name, "property", known, self._all()))

    def of_behaviours(self, name: str) -> str:
        """An *eventually* property, for ``check.eventually.property``."""
        if name in self.eventually:
            return name
        if name in self.always:
            raise ValueError(
                f"{name} is judged in every state and step without being asked for; leave it out"
            )
        if name in self.on_request:
            raise ValueError(f"{name} is a property of states and steps; ask for it in check.properties")
        if name in self.goals or name in self.more_goals():
            raise ValueError(
                f"{name} is a goal of check.goals; property is one of {', '.join(self.eventually)}"
            )
        raise ValueError(_unknown(name, "eventually property", self.eventually, self._all()))

    def _all(self) -> tuple[str, ...]:
        return (*self.always, *self.on_request, *self.eventually, *self.goals)

    def goal(self, name: str) -> str:
        """A goal to be reached, for ``check.goals``."""
        if name in self.goals or name in self.more_goals():
            return name
        if name in (*self.always, *self.on_request):
            asked = "leave it out" if name in self.always else "ask for it in check.properties"
            raise ValueError(f"{name} is a property and no goal; {asked}")
        if name in self.eventually:
            raise ValueError(f"{name} is an eventually property; ask for it in [[check.eventually]]")
        near = did_you_mean(name, (*self.goals, *self.more_goals())) or did_you_mean(name, self._all())
        listed = f"; there are {', '.join(self.goals)}, and transitions such as Follower->Prospective"
        raise ValueError(f"'{printable(name[:60])}' is no goal{near or listed}")


def catalogued(name: str) -> str:
    """A name of any property of the catalogue. Raises ValueError for any other."""
    if any(each.name == name for each in spec.load().properties.values()):
        return name
    raise ValueError(_unknown(name, "property", [each.name for each in spec.load().properties.values()]))


def _unknown(name: str, what: str, known: Collection[str], others: Collection[str] = ()) -> str:
    catalogue = spec.load().properties
    if name.upper() in catalogue:
        return f"{printable(name)} is the id of {catalogue[name.upper()].name}; give its name"
    if any(each.name == name for each in catalogue.values()):
        return f"no check of scenarios of this kind judges {name}; there are {', '.join(known)}"
    near = did_you_mean(name, known) or did_you_mean(name, others) or _LISTED
    return f"'{printable(name[:60])}' is no {what}{near}"
