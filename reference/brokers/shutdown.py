"""A broker process that shuts down in order, in both forms.

Source: KIP-343 (Broker State); Kafka: BrokerLifecycleManager.beginControlledShutdown, beginShutdown.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.effects import Stop
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.work import BrokerWork


def request(work: BrokerWork) -> None:
    """A request to shut the process down."""
    if not work.protocol.is_draft:
        _request_by_life(work)
    elif work.broker.legacy:
        work.by("CONFIG-15", "COMPAT-5")
        work.update(target=BrokerState.INACTIVE)
        end_if_done(work)
    elif work.broker.target is BrokerState.ACTIVE:
        work.by("BSTATE-5")
        work.update(target=BrokerState.STOPPING)


def _request_by_life(work: BrokerWork) -> None:
    work.by("HBK-9")
    if work.broker.life is Life.RUNNING:
        work.update(life=Life.PENDING_CONTROLLED_SHUTDOWN)
    elif work.broker.life in (Life.STARTING, Life.RECOVERY):
        work.update(life=Life.SHUTTING_DOWN)
        end_if_done(work)


def proceed(work: BrokerWork) -> None:
    """A stopping broker of KIP-343 that leads nothing any more requests to be inactive."""
    broker, leads = work.broker, views.led(work.broker)
    if broker.target is BrokerState.STOPPING and broker.state is BrokerState.STOPPING and not leads:
        work.by("BSTATE-9")
        work.update(target=BrokerState.INACTIVE)


def end_if_done(work: BrokerWork) -> None:
    """End once the controller has let the process go and no accepted request is left.

    A legacy process is let go as soon as it requests it.
    """
    broker = work.broker
    if work.protocol.is_draft:
        let_go = views.is_let_go(broker)
    else:
        let_go = broker.life is Life.SHUTTING_DOWN
    if let_go and broker.accepted == 0:
        if work.protocol.is_draft:
            work.by("COMPAT-5" if broker.legacy else "BSTATE-9")
        _end(work)


def _end(work: BrokerWork) -> None:
    """The process is gone; of a process that is gone nothing but its name says anything."""
    work.broker = Broker(work.broker.id, work.broker.incarnation, ended=True)
    work.emit(Stop())
