"""``step`` refuses states of brokers and their controller that explorations never come to, and says why."""

from __future__ import annotations

import pytest

from kraftcheck.cli import main as cli
from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_step import answer, parse_event, parse_state
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.switches import with_switches

LED = "partitions=[partition(topic=t index=0 replicas=[1 2] isr=[{}] leader={})]"
LOG = "controller active=1 durable=metadata-log({} end-offset=8) sessions=[{}]"
FIRST = "broker-registration(broker=1 incarnation=1 epoch=3{})"
SECOND = "broker-registration(broker=2 incarnation=2 epoch=4 fenced=no)"
HEARD = "session(broker=1{}) session(broker=2)"


def log(of_first: str = " fenced=no", session: str = "", *, second: str = SECOND, led: str = "") -> str:
    """A controller of the shipped form with brokers 1 and 2."""
    durable = f"registrations=[{FIRST.format(of_first)} {second}] {led}"
    return LOG.format(durable, HEARD.format(session))


LEAVING = " fenced=no in-controlled-shutdown=yes"
CANNOT_LEAD = (
    ".durable.partitions[0].leader: expected none, or a registered broker, not fenced and with no shutdown "
    "under way, found "
)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (log(" fenced=yes", led=LED.format("1 2", 1)), f"{CANNOT_LEAD}1"),
        (log(LEAVING, " shutdown-offset=7", led=LED.format("1 2", 1)), f"{CANNOT_LEAD}1"),
        (
            log(led=LED.format("1 3", 3)).replace("replicas=[1 2]", "replicas=[1 3]"),
            f"{CANNOT_LEAD}3",
        ),
        (
            log(second=SECOND.replace("epoch=4", "epoch=3")),
            ".durable.registrations[1].epoch: expected one of its own, found 3, that of broker 1",
        ),
        (
            log(session=" offset=8"),
            ".sessions[0].offset: expected an offset below the log's end-offset, 8, found 8",
        ),
        (
            log(LEAVING, " shutdown-offset=8"),
            ".sessions[0].shutdown_offset: expected an offset below the log's end-offset, 8, found 8",
        ),
        *(
            (
                log(registered, " shutdown-offset=7"),
                ".sessions[0].shutdown_offset: expected none, as broker 1 is not leaving in a controlled "
                "shutdown, found 7",
            )
            for registered in (" fenced=no", " fenced=yes in-controlled-shutdown=yes")
        ),
    ],
)
def test_a_controller_that_no_shipped_cluster_has_is_refused(state: str, says: str) -> None:
    assert list(problems(SHIPPED, parse_state(state))) == [says]


@pytest.mark.parametrize(
    "state",
    [
        log(led=LED.format("1 2", 1)),
        # A scenario may begin with a member of an ISR that was never registered, or is fenced.
        log(" fenced=yes", led=LED.format("1 2", 2)),
        log(led=LED.format("1 3", 1)).replace("replicas=[1 2]", "replicas=[1 3]"),
        log(session=" offset=7"),
        log(LEAVING, " shutdown-offset=7 offset=7"),
        # The controller has forgotten since when.
        log(LEAVING),
        log(" fenced=yes in-controlled-shutdown=yes"),
    ],
)
def test_a_controller_beside_them_is_not_refused(state: str) -> None:
    assert list(problems(SHIPPED, parse_state(state))) == []


STORE = (
    "controller active=1 durable=store(registrations=[stored-registration(broker=1 incarnation={}) "
    "stored-registration(broker=2 incarnation=2)] last-transaction=2) brokers=[{}]"
)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            STORE.format(2, ""),
            ".durable.registrations[1].incarnation: expected one of its own, found 2, that of broker 1",
        ),
        (
            STORE.format(1, "liveness(broker=2 incarnation=1 state=active)"),
            ".brokers[0].incarnation: expected one of its own, found 1, that of broker 1",
        ),
        (
            STORE.format(1, "liveness(broker=1 incarnation=3 state=active)"),
            ".brokers[0].incarnation: expected at most the store's last-transaction, 2, found 3",
        ),
    ],
)
def test_incarnations_that_no_store_gave_are_refused(state: str, says: str) -> None:
    assert list(problems(KIP343, parse_state(state))) == [says]


def test_a_heartbeat_of_an_incarnation_that_was_not_written_is_refused() -> None:
    """What a request says is not judged, but what the controller would then remember is."""
    state = parse_state(STORE.format(1, ""))
    heartbeat = (
        "request-received node=1 source=process(broker=1 incarnation={0}) "
        "request=metadata-heartbeat-request(broker=1 incarnation={0} target=active)"
    )
    with pytest.raises(InputError, match=r"leads to .*\.brokers\[0\]\.incarnation: expected at most"):
        answer(KIP343, state, parse_event(heartbeat.format(3)))
    with pytest.raises(InputError, match=r"expected one of its own, found 2, that of broker 2"):
        answer(KIP343, state, parse_event(heartbeat.format(2)))
    assert list(problems(KIP343, answer(KIP343, state, parse_event(heartbeat.format(1))).state)) == []


# Processes.

PROCESS = "broker id=1 incarnation=1 controller=1 "


@pytest.mark.parametrize(
    ("form", "fields", "says"),
    [
        ("draft", "fenced=no", ".fenced: expected yes of a process whose state is initial, found no"),
        (
            "draft",
            "wish=inactive state=inactive fenced=no",
            ".fenced: expected yes of a process whose state is inactive, found no",
        ),
        ("draft", "wish=initial", ".wish: expected active, stopping or inactive, found initial"),
        ("draft", "accepted=3", ".accepted: expected 0 of a process whose state is initial, found 3"),
        (
            "draft",
            "legacy=yes fenced=no awaiting=[heartbeat]",
            ".awaiting: expected no heartbeat of a legacy process",
        ),
        (
            "draft",
            "legacy=yes fenced=no state=active",
            ".state: expected initial of a legacy process, found active",
        ),
        (
            "draft",
            "legacy=yes fenced=no wish=stopping",
            ".wish: expected active or inactive of a legacy process, found stopping",
        ),
        (
            "draft",
            "legacy=yes fenced=no wish=inactive",
            ".wish: expected active of a legacy process without accepted requests, found inactive",
        ),
        *(
            (
                "shipped",
                f"life={life} epoch=4 offset=3",
                f".offset: expected at least the broker epoch, 4, of a process whose life is {life}, found 3",
            )
            for life in ("recovery", "running", "pending-controlled-shutdown", "shutting-down")
        ),
        ("shipped", "accepted=3", ".accepted: expected 0 of a process whose life is starting, found 3"),
        *(
            (
                form,
                f"{fields}visible=[visible-broker(broker=1 life=3) visible-broker(broker=2 life=3)]",
                ".visible[1].life: expected one of its own, found 3, that of broker 1",
            )
            for form, fields in (("draft", ""), ("shipped", "life=running epoch=3 offset=9 "))
        ),
        (
            "draft",
            "visible=[visible-broker(broker=2 life=1)]",
            ".visible[0].life: expected one of its own, found 1, that of broker 1",
        ),
        (
            "shipped",
            "epoch=4 offset=9 visible=[visible-broker(broker=2 life=4)]",
            ".visible[0].life: expected one of its own, found 4, that of broker 1",
        ),
        (
            "shipped",
            "epoch=4 offset=9 visible=[visible-broker(broker=2 life=30)]",
            ".visible[0].life: expected at most the offset that was read, 9, found 30",
        ),
        (
            "shipped",
            "life=recovery epoch=4 offset=4 accepted=1",
            ".accepted: expected 0 of a process whose life is recovery, found 1",
        ),
    ],
)
def test_a_process_that_no_cluster_has_is_refused(form: str, fields: str, says: str) -> None:
    protocol = {"draft": KIP343, "shipped": SHIPPED}[form]
    assert list(problems(protocol, parse_state(PROCESS + fields))) == [says]


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        ("draft", ""),
        ("draft", "wish=stopping"),
        ("draft", "state=inactive accepted=3"),
        ("draft", "wish=inactive state=stopping fenced=no"),
        # It has fenced itself since, or its answer came too late.
        ("draft", "state=active"),
        ("draft", "legacy=yes fenced=no accepted=1 awaiting=[]"),
        ("draft", "legacy=yes fenced=no accepted=1 wish=inactive"),
        ("draft", "ended=yes"),
        ("shipped", "ended=yes"),
        ("shipped", "epoch=4 offset=3"),
        # Its own former life, and one that the controller does not know.
        ("draft", "visible=[visible-broker(broker=1 life=3) visible-broker(broker=2)]"),
        (
            "shipped",
            "epoch=4 offset=9 visible=[visible-broker(broker=1 life=3) visible-broker(broker=2 life=9)]",
        ),
        ("shipped", "life=recovery epoch=4 offset=4"),
        ("shipped", "life=shutting-down epoch=4 offset=4 accepted=1"),
    ],
)
def test_a_process_beside_them_is_not_refused(form: str, fields: str) -> None:
    begin = PROCESS if "ended" not in fields else PROCESS.replace("controller=1", "")
    assert list(problems({"draft": KIP343, "shipped": SHIPPED}[form], parse_state(begin + fields))) == []


@pytest.mark.parametrize("switches", [{"rejection-fences": False}, {"contact": "any-answer"}, {}])
def test_no_switch_lets_a_process_serve_before_it_is_active(switches: dict[str, object]) -> None:
    protocol = with_switches("draft", switches, InputError)
    for state in ("initial", "inactive"):
        process = parse_state(f"{PROCESS} state={state} fenced=no")
        assert list(problems(protocol, process)) == [
            f".fenced: expected yes of a process whose state is {state}, found no"
        ]


def test_the_time_of_a_request_passes_while_one_is_under_way() -> None:
    switches = {"controller-timeout": 2, "broker-timeout": 3, "contact-time": "request"}
    protocol = with_switches("draft", switches, InputError)
    assert list(problems(protocol, parse_state(f"{PROCESS} request-ticks=2"))) == [
        ".request_ticks: expected 0 without a heartbeat under way, found 2"
    ]
    assert list(problems(protocol, parse_state(f"{PROCESS} request-ticks=2 awaiting=[heartbeat]"))) == []


def test_the_command_says_in_one_sentence_what_it_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    """A process of the draft that has had no answer serves nothing (FENCE-9)."""
    assert cli.main(["step", "--protocol", "draft", f"{PROCESS} fenced=no", "client-request"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "kraftcheck: STATE.fenced: expected yes of a process whose state is initial, found no.\n"
    )
