"""The types of the specification: what one rule, transition, message, property … is.

Every type is a frozen value. Nothing in this module reads a file: `spec.catalogue` builds these values from
the TOML files next to it and refuses what is malformed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Confidence: TypeAlias = Literal["document", "document+kafka", "kafka", "memory", "decision"]
"""How well a rule is founded.

* ``document``: a KIP states it.
* ``document+kafka``: a KIP states it and Apache Kafka does it.
* ``kafka``: Apache Kafka does it; no KIP says so.
* ``memory``: known from practice, not checked against a text again.
* ``decision``: the texts leave a hole; this is how we close it.
"""

EpochChange: TypeAlias = Literal["same", "larger", "plus-one"]
"""The epoch after a transition, compared with the epoch before it."""

Membership: TypeAlias = Literal["voter", "observer", "any"]
"""Which replicas may take a transition, by their own view of the voter set."""

PropertyKind: TypeAlias = Literal["always", "eventually", "sometimes"]
"""``always``: holds in every reachable state. ``eventually``: holds on every fair run. ``sometimes``: some
reachable state or step shows it; a run that never does has not explored what it claims to."""

Judged: TypeAlias = Literal["always", "voter-changes", "descriptions", "timers", "on-request"]
"""Where the checker judges an ``always`` property; ``properties.toml`` explains the words."""

PropertySystem: TypeAlias = Literal["replicas", "brokers"]

MessageKind: TypeAlias = Literal["request", "response", "record", "file"]

ErrorStatus: TypeAlias = Literal["current", "removed"]
"""``removed``: in an earlier document only."""

ConfigKind: TypeAlias = Literal["config", "constant", "removed"]
"""``removed``: a key of an earlier document that has no successor."""


RELEASES: Final = ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4", "trunk")
"""The releases of Apache Kafka that `Rule.since`, `Rule.until` and `Change` speak of, the oldest first: the
newest patch of each line. The first one is the first with voter sets in the log (KIP-853)."""

BEFORE: Final = "3.8"
"""`Rule.until` of a rule that no release of `RELEASES` follows any more."""


class SpecificationError(ValueError):
    """The specification files are damaged. The text names the file, the entry and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A protocol switch: a place where documents, or documents and Kafka, differ.

    ``values[0]`` is the default. A choice is written ``id=value``, for instance ``V-SM=kip996``.
    """

    id: str
    name: str
    values: tuple[str, ...]
    switch: str | None
    """The switch of a protocol that chooses (``state-machine``); ``None``: no switch does."""
    governs: str
    meanings: Mapping[str, str]
    """What each value means; the keys are exactly ``values``."""

    @property
    def default(self) -> str:
        return self.values[0]

    @property
    def choices(self) -> tuple[str, ...]:
        """Every value of this switch, written as a choice."""
        return tuple(f"{self.id}={value}" for value in self.values)


def applies(choices: tuple[str, ...], protocol: Mapping[str, str]) -> bool:
    """Whether something restricted to ``choices`` exists under ``protocol`` (switch id → value).

    Several choices of one switch are alternatives; choices of different switches must all hold. No choices
    means: always. A switch that ``protocol`` does not mention does not exclude anything.
    """
    wanted: dict[str, set[str]] = {}
    for choice in choices:
        switch, _, value = choice.partition("=")
        wanted.setdefault(switch, set()).add(value)
    return all(switch not in protocol or protocol[switch] in values for switch, values in wanted.items())


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing a replica must do: when ``when`` holds, then ``then`` follows."""

    id: str
    title: str
    when: str
    then: str
    source: tuple[str, ...]
    """Where it is said: KIP sections ("KIP-996 Prospective state") and Kafka ("Kafka: Class.method")."""
    confidence: Confidence
    variants: tuple[str, ...]
    """The choices this rule belongs to; empty: every variant. See `applies`."""
    protects: tuple[str, ...]
    """Ids of the properties that rest on this rule; the mirror image of `Property.rules`."""
    note: str | None
    uncovered: str | None
    """Why the reference does not implement this rule; None when it must."""
    unmutated: str | None
    """Why no mutant can show what the rule is for; None when one should."""
    file: str
    """The file that holds it, relative to ``spec/``."""
    since: str | None = None
    """The first release of Kafka that does so, of `RELEASES`; None: all, if its `variants` are Kafka's."""
    until: str | None = None
    """The last one, or `BEFORE`; None: every release from `since` on."""

    @property
    def area(self) -> str:
        """The part of the id before the first dash: ``VOTE`` for ``VOTE-10``."""
        return self.id.partition("-")[0]

    @property
    def sentence(self) -> str:
        """The whole rule as one line of prose."""
        return f"When {self.when}, then {self.then}"

    def belongs_to(self, protocol: Mapping[str, str]) -> bool:
        """Whether the rule is effective under ``protocol`` (switch id → value)."""
        return applies(self.variants, protocol)

    def is_in(self, release: str) -> bool:
        """Whether `since` and `until` include a release of `RELEASES`. Raises ValueError for another one."""
        place = RELEASES.index(release)
        begins = 0 if self.since is None else RELEASES.index(self.since)
        if self.until == BEFORE:
            return False
        ends = len(RELEASES) if self.until is None else RELEASES.index(self.until)
        return begins <= place <= ends


@dataclass(frozen=True, slots=True)
class Change:
    """What became different for a replica in one release of Kafka, compared with the release before."""

    name: str
    release: str
    """Of `RELEASES`, not the first."""
    text: str
    issues: tuple[str, ...]
    """KIPs and issues of Kafka: ``KIP-996``, ``KAFKA-16164``."""
    rules: tuple[str, ...]
    """The rules that came (`Rule.since`), that went (`Rule.until` is the release before), and those
    whose text names the change."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One legal step of the state machine, from one role to another.

    A handler may take several of them in one step (a Leader that receives a Vote request of a larger epoch
    becomes Unattached and, granting the vote, Unattached with a vote); each of those is a transition of its
    own here.
    """

    id: str
    """``table/From/To/epoch/role``: unique, derived from the fields."""
    table: str
    """The value of switch V-SM whose table this is."""
    from_state: str
    to_state: str
    rule: str
    epoch: EpochChange
    cause: str
    role: Membership
    kafka: bool
    """Whether Apache Kafka's trunk has this transition as well."""
    requires: tuple[str, ...]
    """What must be able to happen in a model before this transition can: see ``[requires]`` in the file."""
    variants: tuple[str, ...]
    """The choices this transition belongs to; empty: every variant. See `applies`."""
    via: str | None
    """A role passed through on the way, when the row abbreviates two transitions taken in one step."""

    @property
    def goal(self) -> str:
        """The name of the *sometimes* goal that a change from this role to that one is made at least once.

        Rows that differ in epoch or membership only share the goal.
        """
        return f"{self.from_state}->{self.to_state}"

    def belongs_to(self, protocol: Mapping[str, str]) -> bool:
        """Whether the transition is legal under ``protocol`` (switch id → value)."""
        return protocol.get("V-SM", self.table) == self.table and applies(self.variants, protocol)


@dataclass(frozen=True, slots=True)
class BrokerTable:
    """One view of a broker's states: the controller's, or that of the process itself."""

    id: str
    about: str
    variants: tuple[str, ...]
    """The choices under which there is such a state. See `applies`."""
    states: Mapping[str, str]
    """What each state means, in the order of the file."""


@dataclass(frozen=True, slots=True)
class BrokerTransition:
    """One legal change of a state of a `BrokerTable`."""

    id: str
    """``table/From/To/RULE``: unique, derived from the fields."""
    table: str
    from_state: str
    to_state: str
    rules: tuple[str, ...]
    """The rules that decide in the step; empty where it was decided before."""
    cause: str
    source: tuple[str, ...]

    @property
    def goal(self) -> str:
        """The name of the *sometimes* goal that this change is made at least once, whatever the cause."""
        return f"{self.table} {self.from_state}->{self.to_state}"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message, record or file."""

    path: str
    """Where it is: ``Topics[].Partitions[].LeaderEpoch``; ``[]`` marks an array."""
    type: str
    versions: str
    """``0+`` (from version 0), ``0-2`` (a range), ``3`` (one version)."""
    nullable: bool
    default: str | None
    """As written in a schema file; None when the field must be given."""
    tag: int | None
    """The tag of an optional (tagged) field."""
    about: str

    @property
    def name(self) -> str:
        """The last part of the path, without array marks."""
        return self.path.rpartition(".")[2].replace("[]", "")

    def exists_in(self, version: int) -> bool:
        """Whether a message of this version has the field."""
        low, dash, high = self.versions.partition("-")
        if dash:
            return int(low) <= version <= int(high)
        if low.endswith("+"):
            return version >= int(low[:-1])
        return version == int(low)


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """The layout of a request, response, control record or file."""

    name: str
    kind: MessageKind
    code: int | None
    """API key of a request or response, type code of a control record."""
    versions: str
    flexible: str | None
    """The versions that use compact encodings and tagged fields; None: none, or not known."""
    shipped: bool
    """False for a layout that exists in a document only."""
    source: tuple[str, ...]
    about: str
    fields: tuple[Field, ...]

    def field(self, name: str) -> Field:
        """The field with this path, or with this name if only one field has it. Raises KeyError."""
        exact = [f for f in self.fields if f.path == name] or [f for f in self.fields if f.name == name]
        if len(exact) != 1:
            raise KeyError(f"{self.name} has {len(exact)} fields called {name!r}")
        return exact[0]


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code and what it means in this protocol."""

    name: str
    code: int | None
    """The number on the wire; None when the document that names it gives no number."""
    aliases: tuple[str, ...]
    """Names and numbers in drafts."""
    status: ErrorStatus
    meaning: str
    used_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration key, or a constant of Kafka."""

    key: str
    kind: ConfigKind
    former: tuple[str, ...]
    """Keys it had in earlier documents."""
    default: str | None
    """As an operator would write it; None when there is none."""
    rule: str | None
    """The rule of area CONFIG that describes it."""
    source: tuple[str, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two texts that contradict each other, and how that is settled here."""

    id: str
    about: str
    winner: str
    reason: str
    kept_as: str
    """What becomes of the text that lost."""
    variants: tuple[str, ...]
    """The switches that keep the text that lost executable (switch ids)."""
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """Something that must be true of a run, whatever rules made it."""

    id: str
    name: str
    """The name under which the checker, the TLA+ modules and the proofs know it."""
    kind: PropertyKind
    statement: str
    rules: tuple[str, ...]
    """The rules it rests on; the mirror image of `Rule.protects`."""
    mutation: str
    """The smallest change of a rule that should break it."""
    bounds: str
    """The smallest model in which the broken rule should show: an estimate."""
    system: PropertySystem
    """Whose property it is."""
    judged: Judged | None
    """``None`` for properties that are not of the kind ``always``."""
    goals: tuple[str, ...]
    """The goals of scenarios by which an ``eventually`` property may be judged."""


@dataclass(frozen=True, slots=True)
class Specification:
    """Everything the protocol says, by id. Built by `spec.load`; never by hand."""

    rules: Mapping[str, Rule]
    transitions: tuple[Transition, ...]
    requirements: Mapping[str, str]
    """The words that `Transition.requires` may use, and what each means."""
    broker_tables: Mapping[str, BrokerTable]
    broker_transitions: tuple[BrokerTransition, ...]
    messages: Mapping[str, MessageSchema]
    errors: Mapping[str, ErrorCode]
    configs: Mapping[str, Config]
    variants: Mapping[str, Variant]
    conflicts: Mapping[str, Conflict]
    properties: Mapping[str, Property]
    changes: tuple[Change, ...]
    """What changed from release to release of Kafka, in the order of the releases."""

    @property
    def areas(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules of each area, in the order of the files."""
        grouped: dict[str, list[Rule]] = {}
        for rule in self.rules.values():
            grouped.setdefault(rule.area, []).append(rule)
        return {area: tuple(rules) for area, rules in grouped.items()}

    @property
    def defaults(self) -> Mapping[str, str]:
        """The protocol with every switch at its default value."""
        return {variant.id: variant.default for variant in self.variants.values()}

    def property_named(self, name: str) -> Property:
        """The property the checker knows as ``name``. Raises KeyError."""
        for candidate in self.properties.values():
            if candidate.name == name:
                return candidate
        raise KeyError(f"no property is called {name!r}")

    def table(self, name: str) -> tuple[Transition, ...]:
        """The transitions of one table (a value of V-SM). Raises KeyError."""
        rows = tuple(t for t in self.transitions if t.table == name)
        if not rows:
            raise KeyError(f"there is no transition table {name!r}")
        return rows

    def broker_transitions_under(self, protocol: Mapping[str, str]) -> tuple[BrokerTransition, ...]:
        """The changes of states of brokers that are legal under ``protocol`` (switch id → value)."""
        legal = {table.id for table in self.broker_tables.values() if applies(table.variants, protocol)}
        return tuple(row for row in self.broker_transitions if row.table in legal)
