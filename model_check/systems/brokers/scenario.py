"""The tables of a scenario of brokers: the participants, the environment and its budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from kraftcheck.spec import load
from kraftcheck.support.validation import spelled
from kraftcheck.systems import scenario
from kraftcheck.systems.properties import PropertyNames
from kraftcheck.systems.scenario import Budget, Scenario, Table

BrokerId = Annotated[int, Field(ge=1, le=9)]
Isr = Annotated[str, spelled(r"none|[0-9](,[0-9]){0,3}", "an ISR: brokers such as '1,2', or 'none'")]

#: The largest bound of ``check.serves-at-most``, in ticks.
MOST_TICKS = 50


def _more_goals() -> set[str]:
    """A goal for each transition of a broker, and for each number of ticks for which one may serve."""
    serves = {f"GoalServesTicks{ticks}" for ticks in range(MOST_TICKS + 1)}
    return {row.goal for row in load().broker_transitions} | serves


#: The names that scenarios of brokers may use.
NAMES = PropertyNames(
    "brokers",
    _more_goals,
    (
        "GoalDataCommitted", "GoalCrashAfterCommit", "GoalLaterLifeLeads", "GoalLaterLifeHeard",
        "GoalBrokerInactive", "GoalBrokerActiveAgain", "GoalBrokerFencedItself", "GoalBrokerUnfenced",
        "GoalBrokerServes", "GoalFormerLifeRejected", "GoalIsrChanged", "GoalIsrChangeRefused",
        "GoalIsrChangePartlyRefused", "GoalIsrAskedForAgain", "GoalPartitionLeaderChanged",
        "GoalBrokerStopped", "GoalShutdownWaits", "GoalControllerFailover",
    ),
)  # fmt: skip
#: Properties of states and steps.
Named = Annotated[
    tuple[Annotated[str, AfterValidator(NAMES.of_states)], ...],
    Field(strict=False),
]
StateGoal = Literal["liveness-known", "cut-off-are-fenced", "connected-are-unfenced", "connected-serve"]


class ProtocolChoice(Table):
    """``form``: the draft (KIP-343) or what shipped (KIP-631). ``set``: switches that differ from it."""

    form: Literal["draft", "shipped"] = "draft"
    set: dict[str, str | bool | int] = Field(default={})


class Brokers(Table):
    """The participants. ``running``: brokers of a cluster that runs; ``starting``: ids of processes that
    start later, each on a machine of its own, also where another process has the id; ``legacy``: those below
    the inter-broker protocol of the draft; ``controllers``: how many nodes may be the controller.
    ``replicas``: the brokers of each partition, in order of preference (none: there is no partition);
    ``isr``: its ISR in the beginning (all replicas, unless it is given); ``partitions``: how many there are.
    """

    running: Annotated[tuple[BrokerId, ...], Field(max_length=3, strict=False)] = ()
    starting: Annotated[tuple[BrokerId, ...], Field(max_length=2, strict=False)] = ()
    legacy: Annotated[tuple[BrokerId, ...], Field(strict=False)] = ()
    controllers: Annotated[int, Field(ge=1, le=2)] = 1
    replicas: Annotated[tuple[BrokerId, ...], Field(max_length=3, strict=False)] = ()
    isr: Annotated[tuple[BrokerId, ...], Field(max_length=3, strict=False)] = ()
    partitions: Annotated[int, Field(ge=1, le=2)] = 1

    @model_validator(mode="after")
    def _coherent(self) -> Brokers:
        if not (self.running or self.starting):
            raise ValueError("name a broker in running or starting")
        for key in ("running", "replicas", "isr"):
            if len(set(getattr(self, key))) < len(getattr(self, key)):
                raise ValueError(f"{key}: a broker is named twice; name each once")
        for key, known in (("legacy", {*self.running, *self.starting}), ("isr", set(self.replicas))):
            unknown = sorted(set(getattr(self, key)) - known)
            if unknown:
                raise ValueError(f"{key}: {unknown[0]} does not take part; name those that do")
        if self.partitions > 1 and not self.replicas:
            raise ValueError("partitions: there is none without replicas")
        return self


def _names_twice(isr: str) -> bool:
    members = isr.split(",")
    return len(set(members)) < len(members)


class EnvironmentChoice(Table):
    """The environment. ``proposed-isrs``: the ISRs that a leader may propose ("1,2"; "none": an empty one).
    ``data``: whether the one partition has records: its leader takes those of clients, sends its log to
    followers, and commits what the whole ISR holds. ``metadata``: whether metadata of the controller
    stays in flight next to newer metadata. ``leader-epochs``: whether followers and leaders refuse
    messages of another leader epoch; ``commits``: what a leader waits for. ``sessions``: whether the
    store notices the end of a process (the draft). ``restarts``: whether a process starts again after a
    shutdown; the budget of shutdowns bounds that, as crashes bound the starts after them. ``timeouts``:
    where they are not counted, whether any may end, or only those of processes that are silent: ended
    or cut off; ``protects-last-isr-member``: whether that of a broker never does while it is the only
    member of an ISR. ``drift``: by how many ticks a clock may be ahead of or behind physical time,
    where time-outs are counted; ``delay``: for how many ticks a message may be in flight before it is
    lost (any number, unless it is given).
    """

    proposed_isrs: Annotated[tuple[Isr, ...], Field(max_length=4, strict=False, alias="proposed-isrs")] = ()
    data: bool = False
    leader_epochs: Annotated[Literal["compared", "ignored"], Field(alias="leader-epochs")] = "compared"
    commits: Literal["isr", "leader"] = "isr"
    metadata: Literal["all", "newest"] = "all"
    sessions: bool = False
    restarts: bool = False
    timeouts: Literal["any", "silent"] = "any"
    protects_last_isr_member: Annotated[bool, Field(alias="protects-last-isr-member")] = False
    drift: Annotated[int, Field(ge=0, le=2)] = 0
    delay: Annotated[int | None, Field(ge=1, le=9)] = None


class Budgets(scenario.Budgets):
    """How often the environment may do something; 0: never. ``timeouts``: the controller's time-outs, and
    ``contact-losses`` those of brokers, where they are not counted in ticks; without them they are unbounded.
    ``cuts``: links of a process to the controller that are cut, until they are healed. ``rolls``: processes
    that start below the inter-broker protocol of the draft where their broker was not below it in the
    beginning, and the other way round (the draft).
    """

    timeouts: Budget | None = None
    contact_losses: Annotated[Budget | None, Field(alias="contact-losses")] = None
    request_timeouts: Annotated[Budget, Field(alias="request-timeouts")] = 0
    failovers: Budget = 0
    crashes: Budget = 0
    cuts: Budget = 0
    isr_changes: Annotated[Budget, Field(alias="isr-changes")] = 0
    shutdowns: Budget = 0
    requests: Budget = 0
    appends: Budget = 0
    duplicates: Budget = 0
    rolls: Budget = 0


class Eventually(scenario.Eventually):
    """An *eventually* property of brokers."""

    property: Annotated[str, AfterValidator(NAMES.of_behaviours)]
    goal: StateGoal
    form: Literal["always-eventually", "eventually"] = "always-eventually"


class Check(scenario.Check):
    """What is judged of brokers. ``serves-at-most``: for how many ticks a broker may serve that the
    controller has declared inactive.
    """

    properties: Named = ()
    only: Named = ()
    without: Named = ()
    goals: Annotated[tuple[Annotated[str, AfterValidator(NAMES.goal)], ...], Field(strict=False)] = ()
    eventually: Annotated[tuple[Eventually, ...], Field(strict=False)] = ()
    serves_at_most: Annotated[int | None, Field(ge=0, le=MOST_TICKS, alias="serves-at-most")] = None


class BrokerScenario(Scenario):
    """A scenario of brokers and their controller."""

    order = (
        "name", "about", "source", "tags", "protocol", "brokers", "network", "environment", "budgets",
        "check", "reduction", "expect",
    )  # fmt: skip

    protocol: ProtocolChoice = ProtocolChoice()
    brokers: Brokers
    environment: EnvironmentChoice = EnvironmentChoice()
    budgets: Budgets = Budgets()
    check: Check = Check()

    @model_validator(mode="after")
    def _fits(self) -> BrokerScenario:
        timed = "controller-timeout" in self.protocol.set
        if self.reduction.symmetry or self.reduction.epochs != "absolute":
            raise ValueError("reduction: brokers have none; leave it out")
        if not timed and (self.environment.drift or self.environment.delay is not None):
            raise ValueError("environment.drift, delay: no clock runs without the switch controller-timeout")
        if timed and (self.environment.timeouts != "any" or self.environment.protects_last_isr_member):
            raise ValueError(
                "environment.timeouts, protects-last-isr-member: counted in ticks here; leave it out"
            )
        if not timed and self.check.serves_at_most is not None:
            raise ValueError("check.serves-at-most: no clock runs without the switch controller-timeout")
        if not self.brokers.replicas and (self.environment.data or self.environment.proposed_isrs):
            raise ValueError(
                "environment.data, proposed-isrs: there is no partition without brokers.replicas"
            )
        if self.brokers.partitions > 1 and self.environment.data:
            raise ValueError("environment.data: only a partition that is the only one has records")
        if self.protocol.form != "draft" and (self.brokers.legacy or self.budgets.rolls):
            raise ValueError("brokers.legacy, budgets.rolls: only the draft has legacy brokers")
        twice = next((each for each in self.environment.proposed_isrs if _names_twice(each)), None)
        if twice is not None and (self.brokers.legacy or self.budgets.rolls):
            raise ValueError(
                f"environment.proposed-isrs: a legacy broker writes the ISR '{twice}' into the store as it "
                "is; name each broker once"
            )
        if self.environment.data and (self.brokers.legacy or self.budgets.rolls) and self._gives_up:
            raise ValueError(
                "environment.data: a legacy broker repeats its writes to the store until it knows what "
                "became of them, which is left out; leave out budgets.request-timeouts and cuts"
            )
        return self

    @property
    def _gives_up(self) -> bool:
        """Whether a process may take a request for lost that was not."""
        return bool(self.budgets.request_timeouts or self.budgets.cuts)
