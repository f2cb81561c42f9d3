"""What other recorded runs may hold that those at hand do not: no difference, and no error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kraftcheck.evidence.recorder.parts import finished
from kraftcheck.evidence.recorder.schedule import Choice, Cluster, Schedule, record
from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.exceptions import (
    CONTENT_UNKNOWN,
    NUMBER_LEFT_OUT,
    OLDER_VERSION,
    UNKNOWN_FIELD,
    UNRESOLVED,
    UNSEEN_MESSAGES,
)
from kraftcheck.evidence.recordings.network import error_answer, is_error_answer
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.evidence.recordings.totals import Totals
from kraftcheck.evidence.recordings.wire import write_message
from kraftcheck.reference.effects import Persist, Send
from kraftcheck.reference.events import Poll, Resign, Timer
from kraftcheck.reference.messages import AddRaftVoterRequest
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import QuorumState, Replica, Resigned
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.support.errors import InputError
from tests.evidence.recordings.faulty_cluster import faulty_recording
from tests.evidence.recordings.line_changes import message_ids, with_message_ids
from tests.evidence.recordings.small_recording import (
    agrees,
    eventful_recording,
    first,
    renumbered,
    report_on,
    small_recording,
)

Lines = list[dict[str, Any]]

RESIGNED = Replica(
    ReplicaKey(1), static_voters((1, 2, 3)), quorum_state=QuorumState(3, 1), role=Resigned((2, 3))
)

#: Message ids from here on are those of lines that are added.
MORE = 90_000


def started(seed: int, **options: Any) -> Simulation:
    """Three voters whose timeouts are a tenth of production's, started one after the other."""
    simulation = Simulation(seed, hurry=10, **options)
    for node in (1, 2, 3):
        simulation.at(20 * node, partial(simulation.start, node))
    return simulation


def inserted(lines: Lines, seq: int, *more: dict[str, Any]) -> Lines:
    """``lines`` with more of them before line ``seq``, at its time, and the totals counted again. Message ids
    from ``MORE`` on become those after the last one before ``seq``.
    """
    lines = with_message_ids(lines, lambda mid: 10 * mid)
    last = max((mid for line in lines[:seq] for mid in message_ids(line)), default=0)
    added = with_message_ids(more, lambda mid: mid - MORE + last + 1 if mid >= MORE else 10 * mid)
    added = [{"seq": 0, "t": lines[seq]["t"], **line} for line in added]
    whole = [*lines[:seq], *added, *lines[seq:-1]]
    return finished(renumbered(whole), lines[-1]["t"])


def ask(mid: int) -> dict[str, Any]:
    """A request of the client that is not a node."""
    fields = {"mid": mid, "kind": "req", "api": "AddRaftVoter", "from": -1, "corr": mid, "ver": 1}
    request = AddRaftVoterRequest(ReplicaKey(3), (), ack_when_committed=True)
    return {**fields, "data": write_message(request)}


@pytest.mark.parametrize("seed", (0, 1, 4))
def test_clusters_under_every_fault_agree(seed: int) -> None:
    agrees(faulty_recording(seed, seconds=8))


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [*range(100, 110), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(110, 140))],
)
def test_many_clusters_under_every_fault_agree(seed: int) -> None:
    agrees(faulty_recording(seed))


def test_a_request_of_the_client_may_be_lost() -> None:
    lines = small_recording()
    lost = {"ev": "lost", "why": "hostDown", "to": 3, **ask(MORE)}
    answer = {"ev": "adminResult", "from": 3, "mid": MORE + 1, "re": MORE, "api": "AddRaftVoter"}
    agrees(inserted(lines, 60, lost, {**answer, "data": {"errorCode": 8}}))


def test_a_request_of_the_client_may_be_left_over() -> None:
    lines = small_recording()
    agrees(inserted(lines, len(lines) - 1, {"ev": "inflight", "to": 2, **ask(MORE)}))


def test_an_answer_of_the_client_with_an_unknown_error_is_counted() -> None:
    lines = small_recording()
    lost = {"ev": "lost", "why": "drop", "to": 3, **ask(MORE)}
    answer = {"ev": "adminResult", "from": 3, "mid": MORE + 1, "re": MORE, "api": "AddRaftVoter"}
    lines = inserted(lines, 60, lost, {**answer, "data": {"errorCode": 4321}})
    lines[-1]["counts"]["adminResult:AddRaftVoter:SOME_NEW_ERROR"] = 1
    agrees(lines)


def test_the_answer_of_a_server_may_be_lost_and_never_listed() -> None:
    """Node 1 has ended before a later step could list it."""
    lines = small_recording()
    end = first(lines, "end")
    answer = {"mid": MORE, "kind": "resp", "api": "ApiVersions", "from": 1, "corr": 77, "ver": 4}
    lost = {"ev": "lost", "why": "connectionClosed", "to": 2, **answer, "data": {"errorCode": 0}}
    assert agrees(inserted(lines, end, lost)).exceptions[UNRESOLVED] >= 1


def with_queue(*asked: Callable[[Simulation], None]) -> Lines:
    """Voters 2 and 3 stand still, are asked, and are killed together: no line shows what they were asked."""
    simulation = started(7)
    for node in (2, 3):
        simulation.at(350, partial(simulation.pause, node, 400))
        simulation.at(700, partial(simulation.kill, node))
        simulation.at(720, partial(simulation.start, node))
    for action in asked:
        simulation.at(360, partial(action, simulation))
    simulation.run(1100)
    return simulation.finish()


def test_requests_that_wait_in_a_queue_when_the_process_ends() -> None:
    found = [agrees(with_queue()), agrees(with_queue(lambda simulation: simulation.resign()))]
    assert any(report.exceptions[CONTENT_UNKNOWN] for report in found)
    assert any(report.exceptions[UNRESOLVED] for report in found)


@pytest.mark.slow
def test_a_pause_longer_than_every_timeout() -> None:
    for node in (1, 2, 3):
        simulation = started(3)
        for time in range(400, 2600, 40):
            simulation.at(time, simulation.append)
        simulation.at(600, partial(simulation.pause, node, 1200))
        simulation.run(2600)
        lines = simulation.finish()
        assert any(line["ev"] == "pause" for line in lines)
        agrees(lines)


def test_a_message_may_arrive_over_a_link_that_was_blocked_while_it_waited() -> None:
    lines = small_recording()
    arrival = first(lines, "recv", api="Vote", kind="req")
    link = f"{lines[arrival]['from']}>{lines[arrival]['n']}"
    lines = inserted(lines, arrival + 1, {"ev": "net", "what": "heal", "blocked": []})
    agrees(inserted(lines, arrival, {"ev": "net", "what": "link", "blocked": [link]}))


def test_a_shutdown_that_times_out() -> None:
    """A leader without peers resigns and stays so until its time is over."""
    simulation = started(5)
    simulation.at(600, lambda: simulation.isolate(1, 2, 3))
    for node in (1, 2, 3):
        simulation.at(610, partial(simulation.shut_down, node))
    simulation.run(1400)
    lines = simulation.finish()
    stopped = [line for line in lines if line["ev"] == "end" and line["reason"] == "stopped"]
    assert any(line["t"] >= 1110 for line in stopped)
    agrees(lines)


def test_a_call_and_a_message_in_the_same_moment() -> None:
    """The poll that waited takes the message; only the next one acts on the call."""
    simulation = started(7)
    simulation.run(400)
    for time in range(400, 440):
        simulation.at(time, simulation.resign)
    simulation.run(900)
    agrees(simulation.finish())


def test_static_voters_restart_without_a_directory_of_their_vote() -> None:
    simulation = started(2, kraft_version=0)
    for node in (1, 2, 3):
        simulation.at(400 + node, partial(simulation.kill, node))
        simulation.at(450 + node, partial(simulation.start, node))
    simulation.run(900)
    lines = simulation.finish()
    voted = [line["s"]["voted"] for line in lines if line["ev"] == "start" and "voted" in line["s"]]
    assert voted and all(len(vote) == 1 for vote in voted[:1])
    agrees(lines)


def test_a_peer_of_an_older_version() -> None:
    simulation = started(2, older={2: {"Vote": 1}, 3: {"Fetch": 17, "EndQuorumEpoch": 0}})
    simulation.at(500, simulation.resign)
    simulation.run(900)
    lines = simulation.finish()
    assert any(line.get("synthetic") == "UNSUPPORTED_VERSION" for line in lines)
    report = agrees(lines)
    assert report.exceptions[OLDER_VERSION] and report.rules["PREVOTE-18"]


def test_a_version_without_the_fields_that_are_there_is_reported() -> None:
    lines = small_recording()
    seq = first(lines, "recv", api="Vote", kind="req")
    lines[seq]["ver"] = 1
    assert any(one.field == "ver" and one.seq == seq for one in report_on(lines).differences)


def test_an_unknown_error_code_is_no_traceback() -> None:
    """The answer differs from what the reference sends, and its receiver backs off as from any error."""
    lines = small_recording()
    seq = first(lines, "recv", api="Vote", kind="resp")
    lines[seq]["data"]["errorCode"] = 4321
    assert any(seq in (one.seq, one.shown_at) for one in report_on(lines).differences)


def test_an_unknown_field_is_counted_wherever_it_is() -> None:
    lines = small_recording()
    sends = next(line for line in lines if "out" in line)
    lines[40]["s"]["zone"] = sends["zone"] = sends["out"][0]["zone"] = 1
    report = agrees(lines)
    assert report.exceptions[UNKNOWN_FIELD] == 3
    assert set(report.unknown) == {f"{lines[40]['ev']}.s.zone", f"{sends['ev']}.zone", "out.zone"}


@pytest.mark.parametrize(
    ("kind", "more"),
    [("tick", {"mid": 5}), ("net", {"s": {}}), ("pause", {"persist": []}), ("note", {"out": []})],
)
def test_what_a_line_of_its_kind_cannot_say_is_refused(kind: str, more: dict[str, Any]) -> None:
    """It is not an unknown field: a message or an effect would be passed over."""
    lines = small_recording()
    seq = first(lines, "tick")
    lines[seq] = {**lines[seq], "ev": kind, **more}
    with pytest.raises(InputError, match=f"a line '{kind}' cannot have the field"):
        recording_of(lines)


@pytest.mark.parametrize("api", ("FetchSnapshot", "AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter"))
def test_an_answer_of_the_network_holds_nothing_but_its_error(api: str) -> None:
    answer = error_answer(api, 8)
    assert is_error_answer(answer, api, 8) and not is_error_answer(answer, api, 7)
    for name in answer:
        assert name == "errorMessage" or not is_error_answer({**answer, name: 8.0}, api, 8)
    assert not is_error_answer({**answer, "zone": 1}, api, 8)


def test_an_answer_to_a_client_that_no_node_sent_reports_an_error_to_a_request_of_its() -> None:
    lines = small_recording()
    answer = {"ev": "adminResult", "from": 2, "mid": MORE + 1, "re": MORE, "api": "AddRaftVoter"}
    unasked = {**answer, "data": {"errorCode": 8}}
    assert [one.field for one in report_on(inserted(lines, 60, unasked)).differences] == ["re"]
    # In the last moments the request may wait in a queue.
    agrees(inserted(lines, len(lines) - 1, unasked))
    lost = {"ev": "lost", "why": "drop", "to": 2, **ask(MORE)}
    for change, wrong in (
        ({"data": {"errorCode": 0}}, "data.errorCode"),
        ({"api": "RemoveRaftVoter"}, "api"),
    ):
        changed = {**answer, "data": {"errorCode": 8}, **change}
        assert wrong in [one.field for one in report_on(inserted(lines, 60, lost, changed)).differences]


def test_a_tick_that_shows_nothing_is_reported() -> None:
    """Polls without a visible effect are not recorded: something was left out of the line."""
    lines = small_recording()
    seq = next(line["seq"] for line in lines[100:] if line["ev"] == "tick" and line["out"])
    del lines[seq]["out"]
    assert ("tick", seq) in [(one.field, one.seq) for one in report_on(lines).differences]


@pytest.mark.slow
def test_a_poll_that_restarts_a_timer_which_no_state_shows_is_recorded() -> None:
    """A voter that has nothing to report about itself looks again a fetch timeout later."""
    lines = record(Schedule("idle", 1, 6_000, Cluster(), tuple(Choice(9 * n, "start", n) for n in (1, 2, 3))))
    agrees(lines)
    last: dict[int, dict[str, Any]] = {}
    idle = []
    for line in lines:
        same = line["ev"] == "tick" and not {"out", "log", "cb"} & line.keys()
        if same and line["s"] == last.get(line["n"]):
            idle.append(line["seq"])
        if "s" in line:
            last[line["n"]] = line["s"]
    assert idle
    repeated = inserted(lines, idle[0] + 1, lines[idle[0]])
    assert ("tick", idle[0] + 1) in [(one.field, one.seq) for one in report_on(repeated).differences]


@pytest.mark.slow
def test_records_below_the_start_of_the_log_are_not_lost_with_the_power() -> None:
    choices = (
        *(Choice(9 * node, "start", node) for node in (1, 2, 3)),
        *(Choice(at, "append", count=3) for at in range(2_600, 4_000, 200)),
        Choice(2_500, "start", 101),
        Choice(4_200, "snapshot", 101),
        *(Choice(at, "append", count=3) for at in range(4_500, 6_000, 50)),
        Choice(5_400, "kill", 101),
        Choice(5_500, "start", 101),
    )
    lines = record(Schedule("start", 1, 6_000, Cluster(brokers=1), choices))
    ends = [line for line in lines if line["ev"] == "end" and line["powerLoss"]]
    restart = next(line for line in lines if line["ev"] == "start" and line["inc"] == 2)
    assert ends[0]["flushed"] < restart["s"]["logStart"]
    assert restart["lostUnflushed"] == ends[0]["leo"] - restart["s"]["logStart"]
    agrees(lines)


def test_a_number_left_out_is_counted() -> None:
    lines = with_message_ids(small_recording(), lambda mid: mid + 3 * (mid > 20))
    assert (
        agrees(lines).exceptions[NUMBER_LEFT_OUT] == 1 + agrees(small_recording()).exceptions[NUMBER_LEFT_OUT]
    )


@pytest.mark.parametrize(
    "number", (lambda mid: 3 * mid + 7, lambda mid: mid + 2**40), ids=("spread", "large")
)
def test_message_ids_may_be_any_numbers_in_the_order_of_the_messages(number: Callable[[int], int]) -> None:
    agrees(with_message_ids(small_recording(), number))


def test_message_ids_in_another_order_are_reported() -> None:
    """Two requests that leave together exchange their ids wherever these are."""
    lines = list(eventful_recording())
    one, other = next(
        [sent["mid"] for sent in line["out"][:2]] for line in lines if len(line.get("out", ())) > 1
    )
    swapped = with_message_ids(lines, lambda mid: {one: other, other: one}.get(mid, mid))
    assert "out.mid" in {found.field for found in report_on(swapped).differences}


def test_totals_may_count_what_no_line_shows_and_not_less() -> None:
    lines = small_recording()
    lines[-1]["counts"]["synthetic:CONNECTION_RESET"] = 3
    assert agrees(lines).exceptions[UNSEEN_MESSAGES] == 1
    lines[-1]["counts"]["ev:recv"] -= 1
    assert [one.field for one in report_on(lines).differences] == ["counts.ev:recv"]


def test_a_process_that_starts_in_the_role_of_the_one_before_changes_no_role() -> None:
    recording = recording_of(small_recording())
    totals = Totals(recording)
    shown = next(event for event in recording.events if event.kind == "start")
    ended = next(event for event in recording.events if event.kind == "end")
    for event in (shown, ended, shown):
        totals.take(event)
    assert sum(totals.entered.values()) == 1


@pytest.mark.parametrize(("reason", "differs"), [("crash:postStore", []), ("fatal", ["the process starts"])])
def test_a_process_may_end_before_it_has_a_state(reason: str, differs: list[str]) -> None:
    """If it exits, the reference exits at this start, too; a crash may fall on any part of it."""
    lines = small_recording()
    end = first(lines, "end")
    died = {**lines[end], "inc": lines[end]["inc"] + 1, "reason": reason, "exception": "why"}
    report = report_on(inserted(lines, end + 1, {key: died[key] for key in died if key not in ("seq", "t")}))
    assert [one.reference for one in report.differences][:1] == differs


def test_a_run_without_an_elected_leader() -> None:
    simulation = Simulation(1, hurry=10)
    simulation.at(10, partial(simulation.start, 1))
    simulation.run(900)
    lines = simulation.finish()
    assert lines[-1]["leaders"] == {}
    agrees(lines)


@pytest.mark.parametrize("written_back", (True, False))
def test_records_that_an_ended_process_had_not_flushed_may_stay_unflushed(written_back: bool) -> None:
    """A broker's process ends twice; the log that it keeps is flushed in between, or it is not."""
    simulation = started(4, brokers=1)
    simulation.at(200, partial(simulation.start, 101))
    simulation.at(300, simulation.append)
    simulation.at(400, partial(simulation.kill, 101, power_loss=False))
    simulation.at(401, partial(simulation.start, 101))
    simulation.at(402, partial(simulation.kill, 101, power_loss=False))
    simulation.run(420)
    lines = simulation.finish()
    ends = [line for line in lines if line["ev"] == "end"]
    assert ends[0]["flushed"] < ends[0]["leo"] == ends[1]["flushed"]
    if not written_back:
        ends[1]["flushed"] = ends[0]["flushed"]
    agrees(lines)


@pytest.mark.parametrize("counted", (True, False))
def test_records_lost_before_the_disk_was_may_count_as_lost(counted: bool) -> None:
    simulation = started(4, brokers=1)
    simulation.at(200, partial(simulation.start, 101))
    simulation.at(300, simulation.append)
    simulation.at(400, partial(simulation.kill, 101))
    simulation.at(401, partial(simulation.wipe, 101))
    simulation.at(410, partial(simulation.start, 101))
    simulation.run(420)
    lines = simulation.finish()
    (end,) = (line for line in lines if line["ev"] == "end")
    if counted:
        lines[_last(lines, "start")]["lostUnflushed"] = end["leo"] - end["flushed"]
        lines = finished(lines[:-1], lines[-1]["t"])
    agrees(lines)


def _last(lines: Lines, kind: str) -> int:
    return max(line["seq"] for line in lines if line["ev"] == kind)


def test_a_resigned_leader_may_be_asked_to_resign_again() -> None:
    """It is still the leader of its epoch; other epochs to come are refused (KafkaRaftClient.resign)."""
    refused = {epoch: step(KAFKA, RESIGNED, Resign(epoch)).effects != () for epoch in (-1, 2, 3, 4)}
    assert refused == {-1: True, 2: False, 3: False, 4: True}


def test_a_resigned_leader_informs_its_voters_before_it_leaves_its_epoch() -> None:
    """After a pause both are due in one poll (KafkaRaftClient.pollResigned)."""
    effects = step(KAFKA, RESIGNED, Poll((Timer.ELECTION,))).effects
    assert [type(effect) for effect in effects[:3]] == [Send, Send, Persist]
