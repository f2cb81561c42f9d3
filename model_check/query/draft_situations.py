"""The domains of the decision tables of the draft alone (KIP-343); see :mod:`.broker_situations`."""

from __future__ import annotations

from kraftcheck.query.broker_situations import (
    ABSENT,
    COMPARED,
    INCARNATION,
    LEADER_EPOCH,
    NODES,
    OTHER,
    PARTITION_EPOCH,
    PARTITIONS,
    PROCESS,
    STATES,
    TICKS,
    YES_NO,
    Given,
    draft_controller,
    draft_process,
    partition_of,
)
from kraftcheck.query.broker_tables import BrokerTable, Situation
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ContactLost,
    LeaderMoveDue,
    RegistrationRemoved,
    RegistrationWritten,
    RequestReceived,
    ResponseReceived,
    StoreIsrReceived,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    StoreIsrRequest,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

# MetadataHeartbeat.


def _heartbeat(given: Given) -> Situation | None:
    known = None if given["incarnation"] == "none known" else INCARNATION
    incarnation = INCARNATION + COMPARED.get(given["incarnation"], 0)
    # Who sends a heartbeat was registered, and not as legacy: in a roll back that came later.
    written = max(incarnation, INCARNATION) + (1 if given["state"] == "legacy" else 0)
    controller = draft_controller(
        given["state"],
        given["partition"],
        registered=given["registered"] == "yes",
        incarnation=known,
        written=written,
        ticks=1 if given["time has passed"] == "yes" else 0,
    )
    if controller is None:
        return None
    broker = BROKER if given["broker id"] == "an id" else -1
    request = MetadataHeartbeatRequest(broker, incarnation, BrokerState[given["wish"]])
    return controller, RequestReceived(NODES[given["node asked"]], PROCESS, request)


#: No controller answers INITIAL (HEARTBEAT-6).
_ANSWERS = {
    **{
        state.name: MetadataHeartbeatResponse(state=state)
        for state in (BrokerState.INACTIVE, BrokerState.ACTIVE, BrokerState.STOPPING)
    },
    **{
        name: MetadataHeartbeatResponse(BrokerErrorCode[name])
        for name in ("NOT_CONTROLLER", "INVALID_INCARNATION_ID", "INVALID_REQUEST", "UNSUPPORTED_VERSION")
    },
}


def _heartbeat_response(given: Given) -> Situation | None:
    fenced = given["process"] == "fenced"
    broker = draft_process(
        BrokerState[given["state"]],
        wish=BrokerState[given["wish"]],
        fenced=fenced,
        awaiting=(Api.HEARTBEAT,) if given["awaited"] == "yes" else (),
    )
    if given["time has passed"] == "yes" and fenced:
        return None
    request_ticks = int(given["time of the request"])
    if request_ticks and given["awaited"] == "no":
        return None
    broker = replace(
        broker,
        ticks=1 if given["time has passed"] == "yes" else 0,
        request_ticks=request_ticks,
        accepted=1 if given["client requests"] == "some" else 0,
    )
    return broker, ResponseReceived(NODES[given["answered by"]], _ANSWERS[given["answer"]])


# Timers and registrations.


def _contact(given: Given) -> Situation | None:
    state = BrokerState[given["state"]]
    broker = draft_process(state, awaiting=(Api.HEARTBEAT,) if given["heartbeat under way"] == "yes" else ())
    kind = given["process"]
    if kind in ("gone", "legacy") and (state is not BrokerState.INITIAL or given["ticks"] != "0"):
        return None
    if kind == "gone":
        broker = Broker(BROKER, INCARNATION, ended=True)
        if given["heartbeat under way"] == "yes":
            return None
    elif kind == "legacy":
        broker = replace(broker, legacy=True)
    broker = replace(broker, fenced=kind in ("fenced", "gone"), ticks=int(given["ticks"]))
    return broker, ContactLost() if given["event"] == "contact-lost" else Tick()


def _stored_registration(given: Given) -> Situation | None:
    active = given["controller"] == "there is one"
    registered = given["registered"] == "yes"
    controller = draft_controller(given["state"], given["partition"], registered=registered, active=active)
    if controller is None:
        return None
    if given["event"] == "removed":
        return controller, RegistrationRemoved(BROKER)
    return controller, RegistrationWritten(BROKER, int(given["event"].rpartition(" ")[2]))


# Partitions.


def _leader_move(given: Given) -> Situation | None:
    isr = {"can lead": OTHER, "cannot lead": ABSENT, "none": BROKER}[given["other member"]]
    active, leader = given["controller"] == "there is one", given["leader"]
    partition = partition_of(
        (BROKER, OTHER, ABSENT), tuple(sorted({BROKER, isr})), None if leader == "nobody" else BROKER
    )
    # Who is in an ISR without leader, and not inactive, is stopping.
    state = leader if leader != "nobody" else "STOPPING" if active else "INACTIVE"
    controller = draft_controller(state, partition, active=active)
    if controller is None:
        return None
    return controller, LeaderMoveDue("t", 0 if given["partition"] == "known" else 1)


_WRITTEN = {"shrinks": (BROKER,), "as it is": (BROKER, OTHER), "grows": (BROKER, OTHER, ABSENT)}


def _store_isr(given: Given) -> Situation | None:
    active = given["controller"] == "there is one"
    leader = BROKER if given["writer leads"] == "yes" else OTHER
    partition = partition_of((BROKER, OTHER, ABSENT), leader=leader)
    controller: Controller | None = draft_controller("legacy", partition, active=active)
    if controller is None:
        return None
    request = StoreIsrRequest(
        broker=BROKER,
        topic="t",
        index=0 if given["partition"] == "known" else 1,
        leader_epoch=LEADER_EPOCH + COMPARED[given["leader epoch"]],
        partition_epoch=PARTITION_EPOCH + COMPARED[given["partition epoch"]],
        isr=_WRITTEN[given["ISR"]],
    )
    return controller, StoreIsrReceived(PROCESS, request)


# The tables.

#: The states that a process may have been given last.
_PROCESS_STATES = tuple(BrokerState.__members__)

METADATA_HEARTBEAT_REQUEST = BrokerTable(
    "metadata-heartbeat-request",
    "how the controller answers MetadataHeartbeat",
    "Time passes only where --set controller-timeout says so.",
    {
        "state": STATES,
        "registered": YES_NO,
        "incarnation": ("none known", *COMPARED),
        "wish": tuple(BrokerState.__members__),
        "partition": tuple(PARTITIONS),
        "time has passed": YES_NO,
        "broker id": ("an id", "negative"),
        "node asked": tuple(NODES),
    },
    _heartbeat,
)

METADATA_HEARTBEAT_RESPONSE = BrokerTable(
    "metadata-heartbeat-response",
    "what a process makes of an answer to MetadataHeartbeat",
    "Time passes only where --set broker-timeout says so.",
    {
        "answer": tuple(_ANSWERS),
        "process": ("serves", "fenced"),
        "state": _PROCESS_STATES,
        "wish": ("ACTIVE", "STOPPING", "INACTIVE"),
        "client requests": ("none", "some"),
        "time has passed": YES_NO,
        "time of the request": tuple(map(str, range(10))),
        "awaited": ("yes", "no"),
        "answered by": tuple(NODES),
    },
    _heartbeat_response,
)

CONTACT_LOST = BrokerTable(
    "contact-lost",
    "when a process fences itself",
    "Without time-outs contact-lost ends the broker's time; with --set broker-timeout ticks do.",
    {
        "process": ("serves", "fenced", "legacy", "gone"),
        "state": _PROCESS_STATES,
        "event": ("contact-lost", "tick"),
        "ticks": TICKS,
        "heartbeat under way": YES_NO,
    },
    _contact,
)

STORED_REGISTRATION = BrokerTable(
    "stored-registration",
    "what the controller does when a registration in the store is written or removed",
    "A new registration gets the next transaction id.",
    {
        "event": ("written in version 5", "written in version 4", "removed"),
        "state": STATES,
        "registered": YES_NO,
        "partition": tuple(PARTITIONS),
        "controller": ("there is one", "nobody"),
    },
    _stored_registration,
)

LEADER_MOVE = BrokerTable(
    "leader-move",
    "whether the controller moves a partition away from its leader",
    "The leader, if there is one, is broker 1.",
    {
        "leader": ("nobody", "ACTIVE", "STOPPING", "legacy"),
        "other member": ("can lead", "cannot lead", "none"),
        "partition": ("known", "unknown"),
        "controller": ("there is one", "nobody"),
    },
    _leader_move,
)

STORE_ISR_REQUEST = BrokerTable(
    "store-isr-request",
    "whether the store takes an ISR that a legacy broker writes",
    "The writer, broker 1, is legacy; brokers 1, 2 and 3 are replicas, 1 and 2 the ISR.",
    {
        "partition": ("known", "unknown"),
        "partition epoch": tuple(COMPARED),
        "ISR": tuple(_WRITTEN),
        "leader epoch": tuple(COMPARED),
        "writer leads": ("yes", "no"),
        "controller": ("there is one", "nobody"),
    },
    _store_isr,
)
