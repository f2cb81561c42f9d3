"""The variants of the broker layer: which form, how long its time-outs are, and how open points are decided.

What the values mean and which document argues for each: ``spec/variants.toml`` (V-BLIVE, V-ISR) and the
rules named below. Each switch is read in one place.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.brokers.types import Ticks, Version
from kraftcheck.reference.frozen import Frozen


class BrokerLiveness(Enum):
    """How controller and brokers agree on which brokers are alive."""

    KIP343 = "kip343"
    KIP631 = "kip631"


class IsrChanges(Enum):
    """How the leader of a partition changes its ISR."""

    ISR_CHANGE = "isrchange"
    ALTER_PARTITION = "alterpartition"


class Contact(Enum):
    """Which answer to a heartbeat shows that the controller was reached (HEARTBEAT-10)."""

    SUCCESS = "success"
    ANY_ANSWER = "any-answer"


class ContactTime(Enum):
    """From when on a broker's time-out runs: since the answer came, or the request was sent (FENCE-8)."""

    ANSWER = "answer"
    REQUEST = "request"


class KnownLife(Enum):
    """What the incarnation id of IsrChange is compared with (ISR-3): the registration in the store, or what
    the controller remembers of heartbeats."""

    REGISTERED = "registered"
    REMEMBERED = "remembered"


class NewController(Enum):
    """What a new controller takes registered brokers for (HEARTBEAT-11): active, with a whole time-out each,
    or inactive until they heartbeat."""

    TAKES_AS_ACTIVE = "takes-as-active"
    TAKES_AS_INACTIVE = "takes-as-inactive"


class BrokerProtocol(Frozen):
    """One variant of the broker layer.

    ``controller_timeout`` and ``broker_timeout`` are counted in ticks, of the controller's clock and of the
    broker's; ``None``: untimed, a time-out may end at any time, as an event of its own. In the form of
    KIP-631 the first is the session time-out, and there is no second.

    ``rebuilds_incarnations``: INC-5. ``rejection_fences``: FENCE-6. ``rejection_restarts_timer``:
    HEARTBEAT-9. ``compares_leader_epoch``: ISR-5. ``inactive_leaves_isr``: BSTATE-6.
    ``alter_partition_version`` is that of the requests that leaders send, 0 to 3 (AISR-4, AISR-7).
    """

    liveness: BrokerLiveness = BrokerLiveness.KIP343
    isr_changes: IsrChanges = IsrChanges.ISR_CHANGE
    controller_timeout: Ticks | None = None
    broker_timeout: Ticks | None = None
    rebuilds_incarnations: bool = True
    new_controller: NewController = NewController.TAKES_AS_ACTIVE
    rejection_restarts_timer: bool = False
    rejection_fences: bool = True
    contact: Contact = Contact.SUCCESS
    contact_time: ContactTime = ContactTime.ANSWER
    known_life: KnownLife = KnownLife.REGISTERED
    compares_leader_epoch: bool = True
    inactive_leaves_isr: bool = True
    alter_partition_version: Version = 3

    # The smallest fixes of findings in Kafka, of the shipped form alone, each off there: docs/findings/.
    #: A registration begins a session, as before Kafka 4.0 (REG-2): late-registration.
    registration_begins_session: bool = False
    #: A new controller has the other brokers read the log up to its end before a broker in controlled
    #: shutdown exits (HBK-11): shutdown-failover.
    new_controller_waits_for_readers: bool = False
    #: A broker in controlled shutdown that is unfenced leads nothing (HBK-7): unfenced-on-its-way-out.
    leaving_broker_leads_nothing: bool = False

    @property
    def is_draft(self) -> bool:
        """Whether brokers are alive by the rules of KIP-343."""
        return self.liveness is BrokerLiveness.KIP343

    @property
    def says_lives(self) -> bool:
        """Whether fetches and requests for ISRs say which life of a broker is meant (KIP-903)."""
        return self.isr_changes is IsrChanges.ALTER_PARTITION and self.alter_partition_version >= 3


#: The draft of a controller heartbeat, its open points decided.
KIP343 = BrokerProtocol()

#: What shipped: KIP-631 with AlterPartition in version 3.
SHIPPED = BrokerProtocol(liveness=BrokerLiveness.KIP631, isr_changes=IsrChanges.ALTER_PARTITION)
