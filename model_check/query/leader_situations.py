"""The domains of the decision tables of partition leaders and of what a process is told, in both forms; see
:mod:`.broker_situations`.
"""

from __future__ import annotations

from functools import partial

from kraftcheck.query.broker_situations import (
    COMPARED,
    CONTROLLER_NODE,
    END,
    LEADER_EPOCH,
    LED_BY_OTHER,
    OTHER,
    PARTITION_EPOCH,
    PENDING,
    SAID_SINCE,
    STATE_TOLD,
    YES_NO,
    Given,
    draft_process,
    shipped_process,
)
from kraftcheck.query.broker_tables import BrokerTable, Situation
from kraftcheck.query.shipped_situations import LIVES
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    IsrWish,
    IsrWished,
    MetadataReceived,
    RequestTimedOut,
    StoreAnswered,
)
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    IsrMember,
    MetadataUpdate,
    PartitionState,
    StoreIsrResponse,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers.text import BROKER

#: Another partition that broker 1 leads, alone.
_SECOND = replace(STATE_TOLD, index=1, isr=(BROKER,))


def _process(*, draft: bool, partitions: tuple[PartitionState, ...]) -> Broker:
    return draft_process(partitions=partitions) if draft else shipped_process(partitions=partitions)


# ISRs that a leader wants.

_WISHES = {
    "of the partition it leads": (IsrWish("t", 0, (OTHER, BROKER)),),
    "of one that another leads": (IsrWish("t", 2, (BROKER,)),),
    "of one that it does not know": (IsrWish("u", 0, (BROKER,)),),
    "none": (),
}
#: Wishes that broker 2 joins: by how much the life that fetched is before the one that metadata shows.
_JOINING = {"that one joins": 0, "that one joins, whose former life fetched": 1}
_CHANGES = ("none", "of the partition", "of another partition", "of the partition, refused")


def _isr_wished(given: Given, *, draft: bool) -> Situation | None:
    broker = _process(draft=draft, partitions=(STATE_TOLD, _SECOND, replace(LED_BY_OTHER, index=2)))
    change, kind = given["pending"], given["process"]
    if change != "none":
        index = 1 if change == "of another partition" else 0
        pending = replace(PENDING, index=index, refused=change.endswith("refused"))
        broker = replace(broker, pending=(pending,))
    if kind == "legacy":
        broker = replace(broker, legacy=True, state=BrokerState.INITIAL)
    elif kind == "superseded":
        broker = replace(broker, superseded=True)
    elif kind == "unregistered":
        broker = replace(broker, epoch=-1, life=Life.STARTING)
        if change != "none" or given["change under way"] == "yes":
            return None
    awaiting = (Api.ISR,) if given["change under way"] == "yes" else ()
    broker = replace(broker, awaiting=awaiting)
    if given["controller"] == "unknown":
        broker = replace(broker, controller=None)
    joins = given["wish"] in _JOINING
    return broker, IsrWished(_joining(broker, given["wish"]) if joins else _WISHES[given["wish"]])


def _joining(broker: Broker, wish: str) -> tuple[IsrWish, ...]:
    shown = next(each.life for each in broker.visible if each.broker == OTHER)
    assert shown is not None
    return (IsrWish("t", 1, (BROKER, OTHER), (IsrMember(OTHER, shown - _JOINING[wish]),)),)


def _timed_out(given: Given, *, draft: bool) -> Situation | None:
    api = Api(given["request"])
    broker = _process(draft=draft, partitions=(SAID_SINCE[given["metadata says"]],))
    ticks = int(given["time of the request"])
    if ticks and (api is not Api.HEARTBEAT or given["under way"] == "no"):
        return None
    broker = replace(broker, awaiting=(api,) if given["under way"] == "yes" else (), request_ticks=ticks)
    if given["pending"] != "none":
        broker = replace(broker, pending=(PENDING,))
    if given["process"] == "legacy":
        broker = replace(broker, legacy=True, state=BrokerState.INITIAL)
        if api is not Api.ISR:
            return None
    return broker, RequestTimedOut(api)


def _timed_out_shipped(given: Given) -> Situation | None:
    return _timed_out({**given, "process": "usual", "time of the request": "0"}, draft=False)


def _store_answered(given: Given) -> Situation | None:
    leader_epoch = LEADER_EPOCH + (given["metadata says"] == "another leader epoch")
    known = PARTITION_EPOCH + (2 if given["metadata says"] == "newer" else 0)
    told = replace(STATE_TOLD, leader_epoch=leader_epoch, partition_epoch=known)
    broker = replace(draft_process(BrokerState.INITIAL, partitions=(told, _SECOND)), legacy=True)
    changes = {
        "none": (),
        "this one": (PENDING,),
        "this one and another": (PENDING, replace(PENDING, index=1)),
    }[given["pending"]]
    broker = replace(broker, pending=changes, awaiting=(Api.ISR,) if changes else ())
    written = given["answer"] == "written"
    response = StoreIsrResponse("t", 0, written, PARTITION_EPOCH + 1 if written else -1)
    return broker, StoreAnswered(response)


# Metadata.

_TOLD = {
    "what is known": STATE_TOLD,
    "older": replace(STATE_TOLD, partition_epoch=PARTITION_EPOCH - 1),
    "newer, with the ISR asked for": replace(STATE_TOLD, partition_epoch=PARTITION_EPOCH + 1, isr=(BROKER,)),
    "newer, with another ISR": replace(STATE_TOLD, partition_epoch=PARTITION_EPOCH + 1, isr=(BROKER, 3)),
    "another leader epoch": replace(LED_BY_OTHER, leader_epoch=LEADER_EPOCH + 1),
    "nothing": None,
}


def _metadata(given: Given, *, draft: bool) -> Situation | None:
    broker = _process(draft=draft, partitions=(STATE_TOLD,))
    controller = CONTROLLER_NODE if given["controller"] == "known" else None
    broker = replace(broker, controller=controller, controller_epoch=LEADER_EPOCH)
    if given["ISR change"] != "none":
        broker = replace(broker, pending=(PENDING,))
    if given["ISR change"] == "under way":
        broker = replace(broker, awaiting=(Api.ISR,))
    told = _TOLD[given["of the partition"]]
    update = MetadataUpdate(
        CONTROLLER_NODE,
        LEADER_EPOCH + COMPARED[given["controller epoch"]],
        broker.visible,
        () if told is None else (told,),
        -1 if draft else END - 1 + COMPARED[given["offset"]],
    )
    return broker, MetadataReceived(update)


# Clients.


def _client(given: Given, *, draft: bool) -> Situation | None:
    if draft:
        state, wish = BrokerState[given["state"]], BrokerState[given["wish"]]
        broker = draft_process(state, wish=wish, fenced=given["fenced"] == "yes")
        broker = replace(broker, legacy=given["process"] == "legacy")
    else:
        broker = shipped_process(Life(given["life"]))
    accepted = {"none": 0, "one": 1, "several": 2}[given["accepted"]]
    event = ClientRequest() if given["event"] == "client-request" else ClientRequestDone()
    return replace(broker, accepted=accepted), event


# The tables.

STORE_ISR_RESPONSE = BrokerTable(
    "store-isr-response",
    "what a legacy leader makes of an answer of the store",
    f"The write was for the ISR without broker {OTHER}.",
    {
        "answer": ("written", "not written"),
        "pending": ("this one", "this one and another", "none"),
        "metadata says": ("what it was", "newer", "another leader epoch"),
    },
    _store_answered,
)


def tables(*, draft: bool) -> tuple[BrokerTable, ...]:
    """The tables of this module in one form."""
    return (*_of_requests(draft=draft), *_of_others(draft=draft))


def _of_requests(*, draft: bool) -> tuple[BrokerTable, ...]:
    kinds = ("usual", "legacy", "superseded") if draft else ("usual", "unregistered")
    return (
        BrokerTable(
            "isr-wished",
            "whether a leader asks for another ISR",
            "One change is asked for at a time, and one of a partition.",
            {
                "process": kinds,
                "wish": (*_WISHES, *_JOINING),
                "pending": _CHANGES,
                "controller": ("known", "unknown"),
                "change under way": YES_NO,
            },
            partial(_isr_wished, draft=draft),
        ),
        BrokerTable(
            "request-timed-out",
            "what a process does when no answer comes",
            "Time passes only where --set contact-time=request and --set broker-timeout say so."
            if draft
            else "The request may be sent anew.",
            {
                "request": ("heartbeat", "isr") if draft else tuple(api.value for api in Api),
                "under way": ("yes", "no"),
                "metadata says": tuple(SAID_SINCE),
                "pending": ("a change", "none"),
                **({"process": ("usual", "legacy"), "time of the request": ("0", "1")} if draft else {}),
            },
            partial(_timed_out, draft=draft) if draft else _timed_out_shipped,
        ),
    )


def _of_others(*, draft: bool) -> tuple[BrokerTable, ...]:
    life = {
        "process": ("usual", "legacy"),
        "state": tuple(BrokerState.__members__),
        "wish": ("ACTIVE", "STOPPING", "INACTIVE"),
    }
    return (
        BrokerTable(
            "metadata-received",
            "what a process makes of metadata",
            "It leads the partition and may have asked for the ISR without broker 2.",
            {
                "controller epoch": tuple(COMPARED),
                **({} if draft else {"offset": tuple(COMPARED)}),
                "of the partition": tuple(_TOLD),
                "ISR change": ("none", "pending", "under way"),
                "controller": ("known", "unknown"),
            },
            partial(_metadata, draft=draft),
        ),
        BrokerTable(
            "client-request",
            "whether a process takes requests of clients",
            "Client requests that it has accepted are none, one or several.",
            {
                "event": ("client-request", "client-request-done"),
                **({**life, "fenced": YES_NO} if draft else {"life": LIVES}),
                "accepted": ("none", "one", "several"),
            },
            partial(_client, draft=draft),
        ),
    )
