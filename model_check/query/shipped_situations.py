"""The domains of the decision tables of the shipped form alone (KIP-631); see :mod:`.broker_situations`."""

from __future__ import annotations

from kraftcheck.query.broker_situations import (
    CONTROLLER_NODE,
    EPOCH,
    INCARNATION,
    NODES,
    OTHER_NODE,
    PARTITIONS,
    PROCESS,
    REGISTERED,
    YES_NO,
    Given,
    shipped_controller,
    shipped_process,
)
from kraftcheck.query.broker_tables import BrokerTable, Situation
from kraftcheck.reference.brokers.broker import Api, Life
from kraftcheck.reference.brokers.controller import FinalizedFeature
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RegistrationDue, RequestReceived, ResponseReceived
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

LIVES = tuple(life.value for life in Life)

# BrokerRegistration.

_RANGES = {
    "none is required": None,
    "in the range": (FeatureRange("metadata.version", 1, 9),),
    "out of the range": (FeatureRange("metadata.version", 6, 9),),
    "not named": (FeatureRange("group.version", 1, 9),),
}


def _registration(given: Given) -> Situation | None:
    ranges = _RANGES[given["feature"]]
    controller = shipped_controller(
        given["registered"],
        given["partition"],
        session=given["session"] == "yes",
        features=() if ranges is None else (FinalizedFeature("metadata.version", 5),),
    )
    if controller is None or (given["registered"] == "unregistered") != (given["incarnation"] == "new"):
        return None
    request = BrokerRegistrationRequest(
        BROKER,
        "cluster" if given["cluster id"] == "this" else "another-cluster",
        INCARNATION + 1 if given["incarnation"] == "another" else INCARNATION,
        ranges or (),
    )
    return controller, RequestReceived(NODES[given["node asked"]], PROCESS, request)


_ERRORS = (
    "NOT_CONTROLLER",
    "DUPLICATE_BROKER_REGISTRATION",
    "INCONSISTENT_CLUSTER_ID",
    "UNSUPPORTED_VERSION",
)
_REGISTERED = {
    "NONE": BrokerRegistrationResponse(epoch=EPOCH),
    **{name: BrokerRegistrationResponse(BrokerErrorCode[name]) for name in _ERRORS},
}


def _registration_response(given: Given) -> Situation | None:
    awaiting = (Api.REGISTRATION,) if given["awaited"] == "yes" else ()
    broker = shipped_process(Life.STARTING, registered=False, awaiting=awaiting)
    return broker, ResponseReceived(NODES[given["answered by"]], _REGISTERED[given["answer"]])


def _registration_due(given: Given) -> Situation | None:
    registered = given["registered"] == "yes"
    awaiting = (Api.REGISTRATION,) if given["registration under way"] == "yes" else ()
    if registered and awaiting:
        return None
    broker = shipped_process(Life.STARTING, registered=registered, awaiting=awaiting)
    return replace(
        broker, controller=CONTROLLER_NODE if given["controller"] == "known" else None
    ), RegistrationDue()


# BrokerHeartbeat.


def _heartbeat(given: Given) -> Situation | None:
    controller = shipped_controller(
        given["registered"],
        given["partition"],
        session=given["session"] == "yes",
        ticks=1 if given["time has passed"] == "yes" else 0,
        others_read=given["others have read"] == "yes",
    )
    if controller is None or (given["registered"] == "unregistered" and given["broker epoch"] == "current"):
        return None
    # A process wishes to be fenced while it starts, and then has read its registration; whatever it sent may
    # come late.
    starts, leaves = given["wish"] == "to be fenced", given["wish"] == "to shut down"
    has_read = given["has read its registration"] == "yes"
    if not (starts or has_read):
        return None
    epoch = EPOCH if given["broker epoch"] == "current" else EPOCH - 1
    offset = epoch + 1 if has_read else epoch - 1
    request = BrokerHeartbeatRequest(BROKER, epoch, offset, want_fence=starts, want_shutdown=leaves)
    return controller, RequestReceived(NODES[given["node asked"]], PROCESS, request)


_HEARTBEAT_ERRORS = ("NOT_CONTROLLER", "STALE_BROKER_EPOCH", "UNSUPPORTED_VERSION")


def _heartbeat_response(given: Given) -> Situation | None:
    told = tuple(given[name] for name in ("caught up", "fenced", "shall shut down"))
    error = BrokerErrorCode[given["error"]]
    if error is not BrokerErrorCode.NONE and told != ("no", "yes", "no"):
        return None
    caught_up, fenced, shut_down = (each == "yes" for each in told)
    if shut_down and not fenced:
        return None  # Who shall shut down is told that it is fenced.
    response = BrokerHeartbeatResponse(error, caught_up, fenced, shut_down)
    awaiting = (Api.HEARTBEAT,) if given["awaited"] == "yes" else ()
    broker = shipped_process(Life(given["life"]), awaiting=awaiting)
    broker = replace(broker, accepted=1 if given["client requests"] == "some" else 0)
    return broker, ResponseReceived(NODES[given["answered by"]], response)


# The tables.

BROKER_REGISTRATION_REQUEST = BrokerTable(
    "broker-registration-request",
    "how the controller answers BrokerRegistration",
    "One feature level may be required of every broker.",
    {
        "registered": REGISTERED[:5],
        "incarnation": ("new", "the registered one", "another"),
        "session": ("yes", "no"),
        "feature": tuple(_RANGES),
        "partition": tuple(PARTITIONS),
        "cluster id": ("this", "another"),
        "node asked": tuple(NODES),
    },
    _registration,
)

BROKER_REGISTRATION_RESPONSE = BrokerTable(
    "broker-registration-response",
    "what a process makes of an answer to BrokerRegistration",
    f"The process takes node {CONTROLLER_NODE} for the controller; node {OTHER_NODE} is another.",
    {"answer": tuple(_REGISTERED), "answered by": tuple(NODES), "awaited": ("yes", "no")},
    _registration_response,
)

REGISTRATION_DUE = BrokerTable(
    "registration-due",
    "whether a process that starts registers",
    "The process is starting.",
    {
        "registered": YES_NO,
        "controller": ("known", "unknown"),
        "registration under way": YES_NO,
    },
    _registration_due,
)

BROKER_HEARTBEAT_REQUEST = BrokerTable(
    "broker-heartbeat-request",
    "how the controller answers BrokerHeartbeat",
    "The other active broker has read the records of a controlled shutdown, or not. Time passes only where "
    "--set controller-timeout says so.",
    {
        "registered": REGISTERED,
        "broker epoch": ("current", "stale"),
        "wish": ("to be fenced", "none", "to shut down"),
        "has read its registration": YES_NO,
        "partition": tuple(PARTITIONS),
        "others have read": YES_NO,
        "session": ("yes", "no"),
        "time has passed": YES_NO,
        "node asked": tuple(NODES),
    },
    _heartbeat,
)

BROKER_HEARTBEAT_RESPONSE = BrokerTable(
    "broker-heartbeat-response",
    "what a process makes of an answer to BrokerHeartbeat",
    "An answer that is an error says nothing else.",
    {
        "life": LIVES,
        "error": ("NONE", *_HEARTBEAT_ERRORS),
        "caught up": YES_NO,
        "fenced": YES_NO,
        "shall shut down": YES_NO,
        "client requests": ("none", "some"),
        "answered by": tuple(NODES),
        "awaited": ("yes", "no"),
    },
    _heartbeat_response,
)
