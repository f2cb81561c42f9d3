"""The domains of the decision tables of timers and failovers that both forms have; see
:mod:`.broker_situations`.
"""

from __future__ import annotations

from functools import partial

from kraftcheck.query.broker_situations import (
    INCARNATION,
    OTHER_NODE,
    PARTITIONS,
    PROCESS,
    REGISTERED,
    STATES,
    TICKS,
    YES_NO,
    Given,
    draft_controller,
    draft_process,
    shipped_controller,
    shipped_process,
)
from kraftcheck.query.broker_tables import BrokerTable, Situation
from kraftcheck.query.shipped_situations import LIVES
from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Life
from kraftcheck.reference.brokers.controller import Controller, Liveness
from kraftcheck.reference.brokers.events import (
    Failover,
    HeartbeatDue,
    MetadataDue,
    SessionExpired,
    ShutdownWished,
    Tick,
)
from kraftcheck.reference.brokers.messages import BrokerState, Process
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

_CONTROLLER = ("there is one", "nobody")
_WISHES = ("ACTIVE", "STOPPING", "INACTIVE")

# The controller.


def _controller(given: Given, *, draft: bool) -> Controller | None:
    """The controller that a row of either form is about."""
    active, ticks = given["controller"] == "there is one", int(given["ticks"])
    if draft:
        return draft_controller(
            given["state"],
            given["partition"],
            registered=given["registered"] == "yes",
            ticks=ticks,
            active=active,
        )
    session = given["session"] == "yes"
    return shipped_controller(
        given["registered"], given["partition"], session=session, ticks=ticks, active=active
    )


def _session_expired(given: Given, *, draft: bool) -> Situation | None:
    controller = _controller(given, draft=draft)
    event = SessionExpired(BROKER) if given["event"] == "session-expired" else Tick()
    return None if controller is None else (controller, event)


def _failover(given: Given, *, draft: bool) -> Situation | None:
    ticks = "1" if given["time has passed"] == "yes" else "0"
    controller = _controller({**given, "ticks": ticks}, draft=draft)
    if controller is not None and draft:
        controller = _heard_of(controller, given["incarnation heard of"])
    node = OTHER_NODE if given["event"] == "another node takes over" else None
    return None if controller is None else (controller, Failover(node))


def _heard_of(controller: Controller, heard: str) -> Controller | None:
    """A controller of the draft that remembers this incarnation of broker 1; ``None`` if that cannot be."""
    known = views.remembered(controller, BROKER)
    registered = views.stored(controller, BROKER) is not None
    if heard == "none":
        kept = replace(known, incarnation=None)
    elif controller.active is None or (heard == "the registered one" and not registered):
        return None
    else:
        incarnation = INCARNATION if heard == "the registered one" else INCARNATION - 1
        kept = replace(known, incarnation=incarnation)
    brokers = (kept, *(each for each in controller.brokers if each.broker != BROKER))
    says_something = tuple(each for each in brokers if each != Liveness(each.broker))
    return replace(controller, brokers=says_something)


def _metadata_due(given: Given, *, draft: bool) -> Situation | None:
    active = given["controller"] == "there is one"
    session = active and not draft and given["registered"] != "unregistered"
    assumed = {"partition": "outside the ISR", "ticks": "0", "session": YES_NO[session]}
    controller = _controller({**given, **assumed}, draft=draft)
    own = given["process"] == "the one that is known"
    target = PROCESS if own else Process(BROKER, INCARNATION - 1)
    return None if controller is None else (controller, MetadataDue(target))


# Processes.


def _heartbeat_due(given: Given, *, draft: bool) -> Situation | None:
    if draft:
        state, wish = BrokerState[given["state"]], BrokerState[given["wish"]]
        legacy = given["process"] == "legacy"
        fenced = not legacy and state in (BrokerState.INITIAL, BrokerState.INACTIVE)
        # Who has a request of a client left goes on where others would have ended.
        accepted = 1 if wish is BrokerState.INACTIVE else 0
        broker = replace(draft_process(state, wish=wish, fenced=fenced), legacy=legacy, accepted=accepted)
        broker = broker if given["leads"] == "yes" else replace(broker, partitions=())
        if broker.legacy and (given["state"], given["wish"]) != ("INITIAL", "ACTIVE"):
            return None
    else:
        life = Life(given["life"])
        broker = shipped_process(life, registered=given["registered"] == "yes")
        broker = replace(broker, accepted=1 if life is Life.SHUTTING_DOWN else 0)
    awaiting = (Api.HEARTBEAT,) if given["heartbeat under way"] == "yes" else ()
    if awaiting and (broker.legacy or (not draft and given["registered"] == "no")):
        return None
    broker = replace(broker, awaiting=awaiting)
    return broker if given["controller"] == "known" else replace(broker, controller=None), HeartbeatDue()


def _shutdown_wished(given: Given, *, draft: bool) -> Situation | None:
    if draft:
        wish = BrokerState[given["wish"]]
        broker = replace(draft_process(wish=wish), legacy=given["process"] == "legacy")
        if broker.legacy:
            broker = replace(broker, state=BrokerState.INITIAL)
            if wish is not BrokerState.ACTIVE:
                return None
    else:
        broker = shipped_process(Life(given["life"]))
    accepted = 1 if given["client requests"] == "some" else 0
    return replace(broker, accepted=accepted), ShutdownWished()


# The tables.


def tables(*, draft: bool) -> tuple[BrokerTable, ...]:
    """The tables of this module in one form."""
    return (*_of_controller(draft=draft), *_of_processes(draft=draft))


def _of_controller(*, draft: bool) -> tuple[BrokerTable, ...]:
    state = {"state": STATES, "registered": YES_NO} if draft else {"registered": REGISTERED}
    session = {} if draft else {"session": ("yes", "no")}
    heard = {"incarnation heard of": ("the registered one", "an earlier one", "none")} if draft else {}
    return (
        BrokerTable(
            "session-expired",
            "what the controller does when the time of a broker is over",
            "Without time-outs session-expired ends the time; with --set controller-timeout ticks do.",
            {
                **state,
                **session,
                "event": ("session-expired", "tick"),
                "ticks": TICKS,
                "partition": tuple(PARTITIONS),
                "controller": _CONTROLLER,
            },
            partial(_session_expired, draft=draft),
        ),
        BrokerTable(
            "failover",
            "what a new controller takes a broker for",
            "What was in memory is lost. Time passes only where --set controller-timeout says so.",
            {
                "event": ("another node takes over", "nobody is the controller"),
                "controller": _CONTROLLER,
                **heard,
                **state,
                **session,
                "time has passed": YES_NO,
                "partition": tuple(PARTITIONS),
            },
            partial(_failover, draft=draft),
        ),
        BrokerTable(
            "metadata-due",
            "whether the controller tells a process the metadata",
            "The other process has the id of broker 1 and a smaller incarnation.",
            {**state, "process": ("the one that is known", "another"), "controller": _CONTROLLER},
            partial(_metadata_due, draft=draft),
        ),
    )


def _of_processes(*, draft: bool) -> tuple[BrokerTable, ...]:
    life = {"process": ("usual", "legacy"), "wish": _WISHES} if draft else {"life": LIVES}
    known = {"state": tuple(BrokerState.__members__)} if draft else {"registered": YES_NO}
    own = {"leads": YES_NO} if draft else {}
    return (
        BrokerTable(
            "heartbeat-due",
            "which heartbeat a process sends",
            "It leads a partition, or none."
            if draft
            else "A process that is not registered has no epoch to send.",
            {
                **life,
                **known,
                **own,
                "controller": ("known", "unknown"),
                "heartbeat under way": YES_NO,
            },
            partial(_heartbeat_due, draft=draft),
        ),
        BrokerTable(
            "shutdown-wished",
            "how a process begins to shut down",
            "Client requests that it has accepted are completed first, or there are none.",
            {**life, "client requests": ("none", "some")},
            partial(_shutdown_wished, draft=draft),
        ),
    )
