"""Generated sequences: deterministic, drivable, and covering what the scenarios reach."""

import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import NOT_REACHED, carried_out, not_exercised
from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.checking.mutation.catalogue import shipped as mutants
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.cli.main import main
from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.evidence.adapters import files
from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.generate import Generated, generate, target, witnesses
from kraftcheck.evidence.adapters.probes import probes
from kraftcheck.evidence.adapters.recorded import RecordedSession, Recorder
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Pause, ReplaceDisk, Start
from kraftcheck.evidence.quorum.chosen import WITHOUT_DISKS, obstacle
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import AppendBatch, ArmTimer, Effect, Fatal, SuccessorBackoff
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.protocol import DOCUMENTS, KAFKA, KAFKA_TRUNK, KIP996, PRESETS, RELEASES, Protocol
from kraftcheck.reference.replica import Leader
from kraftcheck.support import codec
from kraftcheck.support.forks import End
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.identities import protocol_of
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.switches import choices
from tests.evidence.adapters.in_process import InProcess

REFERENCE = shlex.join([sys.executable, "-m", "kraftcheck.evidence.adapters.adapter"])

#: The presets whose messages have a form on the wire.
DRIVEN = ["kafka", *(name for name in DOCUMENTS if name != "kip595")]
#: The mutants that no sequence of events tells from the reference, with the reason.
OF_DISKS = (
    "the driver writes the files, of known versions and whole, takes zeros for no directory id, and begins a "
    "log that ends before its newest snapshot at the end of that snapshot"
)
EQUIVALENT, OF_CLOCKS = "it is equivalent", "the driver's clock is not set back"
INDISTINGUISHABLE = {
    "candidate-vote-rule-removed": EQUIVALENT,
    "caught-up-at-former-fetch-goes-back": EQUIVALENT,
    "zeros-are-a-directory-id": OF_DISKS,
    "unknown-file-version-is-read": OF_DISKS,
    "unknown-file-version-is-blank": OF_DISKS,
    "start-on-unknown-disk-writes-first": OF_DISKS,
    "snapshot-lost-with-power": OF_DISKS,
    "log-behind-its-snapshot": OF_DISKS,
    "log-kept-behind-its-snapshot": OF_DISKS,
    "last-fetch-goes-back": OF_CLOCKS,
    "caught-up-goes-back": OF_CLOCKS,
    "second-answer-about-versions": "no second answer is awaited: the leader asks once a change (ADD-8)",
}
#: Seconds for the comparison of one mutant with a session.
PATIENCE = 900.0


def generated(*names: str, preset: str = "kafka", seed: int = 0) -> Generated:
    return generate([scenario.shipped()[name] for name in names], preset, {}, seed, max_states=5_000)


def rules_of(sequences: list[DriveSequence]) -> set[str]:
    outcomes = [q.outcome for each in sequences for q in Asking(each).questions()]
    return {rule for outcome in outcomes if outcome is not None for rule in outcome.rules}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_sequences() -> None:
    one, other = (generated("mutants-observer").sequences for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_a_witness_is_found_for_every_target_of_a_small_system() -> None:
    """Held against a plain search through all states."""
    system = build(scenario.shipped()["ping-pong"])
    states = list(initial_states(system))
    seen, targets = set(states), set()
    while states:
        state = states.pop()
        for step in steps(system, state):
            component = step.path.component
            local, message = state.locals[component], step.path.message
            if step.cut is not None or step.path.kind == "lose":
                continue
            offered = (
                system.action_steps(component, local)  # type: ignore[arg-type]
                if message is None
                else system.deliver_steps(component, local, message)  # type: ignore[arg-type]
            )
            targets.add(target(component, local, offered[step.path.choice]))  # type: ignore[arg-type]
            if not step.violations and step.target not in seen:
                seen.add(step.target)
                states.append(step.target)
    shown, complete = witnesses(system, frozenset(), 10_000)
    assert complete
    assert {each.target for each in shown} == targets


@pytest.mark.slow
def test_a_sequence_starts_the_process_and_none_is_out_of_reach() -> None:
    """A prologue leads into every state in which these scenarios begin."""
    found = generated("scenario-a", "mutants-diverged", "zombie-leader")
    assert not found.left_out
    assert all(isinstance(sequence.stimuli[0], Start) for sequence in found.sequences)


@pytest.mark.slow
@pytest.mark.parametrize("preset", DRIVEN)
def test_the_reference_agrees_with_itself(preset: str) -> None:
    sequences = generated("mutants-observer", "single-voter", "ping-pong", preset=preset).sequences
    assert len(sequences) > 10
    sequences += list(scripts(PRESETS[preset]))[::3]
    session = Session(InProcess(ReferenceAdapter()))
    for sequence in sequences:
        driven = session.drive(sequence)
        assert driven.failed is None, (sequence.name, driven.failed)
        assert driven.steps > 0


@pytest.mark.slow
def test_scripts_exercise_every_rule_of_what_scenarios_have_no_notion_of() -> None:
    areas = ("ADD-", "REMOVE-", "UPDATE-", "KVER-", "SNAP-", "VSET-", "FETCH-12", "FETCH-13")
    of_kafka = [choices(preset) for preset in (KAFKA, KAFKA_TRUNK)]
    known = spec.load().rules
    rules = [rule for rule in carried_out() if rule.startswith(areas)]
    rules = [rule for rule in rules if any(map(known[rule].belongs_to, of_kafka))]
    assert len(rules) > 50
    assert set(rules) <= rules_of([*scripts(KAFKA), *scripts(KAFKA_TRUNK)])


def test_a_follower_waits_by_its_place_among_the_successors_wherever_that_is() -> None:
    """One in the middle, the last, and one that is not on the list (END-7)."""
    sequences = (each for each in scripts(KAFKA) if each.name.startswith("script hand-over"))
    outcomes = [q.outcome for each in sequences for q in Asking(each).questions()]
    armed = [effect for each in outcomes if each for effect in each.effects if isinstance(effect, ArmTimer)]
    waits = {each.duration for each in armed if isinstance(each.duration, SuccessorBackoff)}
    assert waits == {*(SuccessorBackoff(place, 4) for place in (1, 2, 3)), SuccessorBackoff(2, 2)}


@pytest.mark.slow
def test_probes_differ_by_the_durations_of_timers() -> None:
    """A probe for each place on a list of successors, although one rule decides them all (END-7)."""
    found = {
        effect.duration
        for each in probes(KAFKA)
        if "end-quorum-epoch-request" in each.name
        for question in Asking(each).questions()
        if question.outcome is not None
        for effect in question.outcome.effects
        if isinstance(effect, ArmTimer)
    }
    assert {SuccessorBackoff(0, 2), SuccessorBackoff(1, 2), SuccessorBackoff(1, 1)} <= found


@pytest.mark.slow
def test_the_response_of_a_probe_is_awaited() -> None:
    """Otherwise it would be dropped. Batches before the end of the log, at it and beyond it are appended, or
    the process exits.
    """
    found = set[tuple[int, type[Effect]]]()
    for each in probes(KAFKA):
        for question in Asking(each).questions() if "odd fetch-response" in each.name else ():
            answer = getattr(question.event, "response", None)
            if isinstance(answer, FetchResponse) and answer.batches and question.before and question.outcome:
                beyond = answer.batches[0].base_offset - question.before.log.end_offset
                found.update((beyond, type(effect)) for effect in question.outcome.effects)
    assert {(-1, Fatal), (0, AppendBatch), (1, AppendBatch), (0, Fatal), (1, Fatal)} <= found
    assert (-1, AppendBatch) not in found


@pytest.mark.slow
@pytest.mark.parametrize("preset", RELEASES)
def test_a_voter_reports_after_any_period(preset: str) -> None:
    assert "UPDATE-1" in rules_of(list(scripts(PRESETS[preset])))


@pytest.mark.parametrize("preset", DRIVEN)
def test_every_step_of_a_script_happens_until_the_process_ends(preset: str) -> None:
    """A stimulus that finds nothing to happen to is a slip of whoever wrote it."""
    found = list(scripts(PRESETS[preset]))
    assert len({each.name for each in found}) == len(found)
    for sequence in found:
        questions = list(Asking(sequence).questions())
        ended = [each.position for each in questions if each.ended and each.outcome is not None]
        asked = {each.position for each in questions}
        asked |= {number for number, each in enumerate(sequence.stimuli) if isinstance(each, Pause)}
        last = ended[-1] if ended else len(sequence.stimuli)
        missed = [n for n in range(len(sequence.stimuli)) if n not in asked and n < last]
        assert not missed, (sequence.name, [sequence.stimuli[n] for n in missed])


def test_what_has_no_form_on_the_wire_is_not_driven(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drive", "--adapter", REFERENCE, "--protocol", "kip595"]) == 2
    assert "never released" in capsys.readouterr().err


@pytest.mark.slow
def test_traces_are_saved_and_driven_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "saved"
    arguments = ["drive", "--adapter", REFERENCE]
    assert main([*arguments, "--scenario", "scenario-a", "--save", str(folder)]) == 0
    saved = files.load(folder)
    assert saved and rules_of(saved) == rules_of(generated("scenario-a").sequences)
    assert main([*arguments, "--traces", str(folder), "--json"]) == 0
    assert '"verdict": "agrees"' in capsys.readouterr().out
    assert main([*arguments, "--traces", str(folder), "--limit", "3"]) == 3
    assert "UNDETERMINED" in capsys.readouterr().out


@pytest.mark.slow
def test_a_trace_file_is_driven_for_each_replica(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    assert main(["trace", "show", "finding-restart-as-candidate", "--path", "0,1,1,1", "--json"]) == 0
    trace.write_text(capsys.readouterr().out)
    assert len(files.load(trace)) >= 2
    assert main(["drive", "--adapter", REFERENCE, "--traces", str(trace)]) == 0
    trace.write_text("{}")
    assert main(["drive", "--adapter", REFERENCE, "--traces", str(trace)]) == 2
    assert "not a trace file" in capsys.readouterr().err


def test_a_trace_with_an_initial_leader_and_a_lost_disk_is_driven_from_the_first_start_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    wiped = "trace show finding-wiped-leader --path 1 --json"
    assert main(wiped.split()) == 0
    trace.write_text(capsys.readouterr().out)
    (sequence,) = files.load(trace)
    assert sequence.origin is not None and sequence.disk == Disk(directory="d1")
    last = sequence.stimuli[sequence.origin.steps.index(1) :]
    assert last[:2] == (ReplaceDisk("d1-2"), Start())
    driven = Session(InProcess(ReferenceAdapter())).drive(sequence)
    assert driven.failed is None and driven.steps > len(last)
    questions = list(Asking(sequence).questions())
    assert any(each.before and isinstance(each.before.role, Leader) for each in questions)
    assert questions[-1].identity.key.directory == "d1-2" and questions[-1].disk.log.end_offset == 0
    again = codec.parse(files.dumps(sequence), "a sequence")
    assert files.decode(again, "a sequence") == replace(sequence, origin=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "every", "max_states"),
    [
        pytest.param(KAFKA, 3, 300, id="kafka"),
        pytest.param(KAFKA, 1, 10_000, id="kafka-all-scenarios", marks=pytest.mark.nightly),
        pytest.param(KIP996, 1, 10_000, id="kip996", marks=pytest.mark.nightly),
    ],
)
def test_all_rules_in_force_are_exercised(protocol: Protocol, every: int, max_states: int) -> None:
    preset = next(name for name, value in PRESETS.items() if value == protocol)
    driven_ones = [each for each in shipped().values() if obstacle(each) != WITHOUT_DISKS]
    found = generate(driven_ones[::every], preset, {}, 0, max_states=max_states)
    assert all(reason.startswith("does not go with this protocol") for reason in found.left_out.values())
    session, decided = Session(InProcess(ReferenceAdapter())), set[str]()
    for sequence in (*found.sequences, *probes(protocol), *scripts(protocol)):
        driven = session.drive(sequence)
        assert driven.failed is None, (sequence.name, driven.failed)
        decided |= driven.decided
    assert not_exercised(decided, protocol).get(NOT_REACHED) is None


@cache
def modules_of_an_adapter() -> set[str]:
    """The modules of the reference that the adapter imports, without those of brokers; it refuses mutants of
    others.
    """
    code = "import sys, kraftcheck.evidence.adapters.serving; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    of_reference = {name for name in done.stdout.split() if name.startswith("kraftcheck.reference")}
    return {name for name in of_reference if not name.startswith("kraftcheck.reference.brokers")}


@pytest.mark.slow
def test_an_adapter_reaches_a_replica_and_not_its_configuration() -> None:
    reached = modules_of_an_adapter()
    assert {"kraftcheck.reference.fetch", "kraftcheck.reference.startup"} <= reached
    assert "kraftcheck.reference.bootstrap" not in reached


def sequences_of(mutant: Mutant) -> list[DriveSequence]:
    """Sequences under each protocol of the mutant's own scenario."""
    scenario = shipped()[mutant.scenario]
    preset, switches = scenario.protocol.preset, scenario.protocol.set
    replicas = (*scenario.replicas.voters, *scenario.replicas.observers)
    protocols = dict.fromkeys(protocol_of(scenario, replica, scenario.name) for replica in replicas)
    found = list(generate([scenario], preset, switches, 0).sequences)
    return found + [each for one in protocols for each in (*probes(one), *scripts(one))]


def record(sequences: list[DriveSequence], path: Path) -> None:
    """Write a session of the reference along ``sequences``."""
    recorder = Recorder(InProcess(ReferenceAdapter()))
    session = Session(recorder)
    for sequence in sequences:
        recorder.sequence = sequence.name
        assert session.drive(sequence).failed is None
    recorder.write(path)


@dataclass
class Recorded:
    """A session of the reference along all sequences, and for each rule the sequences in which it decides."""

    session: Path
    decided: dict[str, set[str]]

    def deciding(self, mutant: Mutant) -> list[str]:
        """The sequences in which a rule of the mutant decides: they are the most likely to notice it."""
        return sorted(set[str]().union(*(self.decided.get(rule, ()) for rule in mutant.rules)))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    path = tmp_path_factory.mktemp("sessions") / "whole.jsonl.gz"
    assert main(["drive", "--adapter", REFERENCE, "--keep-going", "--record", str(path)]) == 0
    decided = defaultdict[str, set[str]](set)
    for driven in RecordedSession(path).compared():
        assert driven.failed is None
        for rule in driven.decided:
            decided[rule].add(driven.sequence.name)
    return Recorded(path, decided)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as environment, Server() as found:
        # Processes with mutants import the laboratory.
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
        yield found


def told_apart(
    server: Server, session: Path, mutant: Mutant | None = None, first: Sequence[str] = ()
) -> bool:
    """Whether a recorded answer tells the mutant from the reference, or the mutant raises an exception.

    Without a mutant: whether one tells the reference from itself.
    """
    name, changed = ("", {}) if mutant is None else (mutant.id, patch.mutated_sources(mutant))
    arguments = {"session": str(session), "first": list(first)}
    ended = server.run(Job("tests.laboratory.drive.ways:is_noticed", arguments, PATIENCE, name, changed))
    assert ended.end in (End.DONE, End.FAILED), ended.why
    return ended.end is End.FAILED or ended.found == [True]


@pytest.mark.slow
def test_the_reference_is_not_told_from_itself(server: Server, tmp_path: Path) -> None:
    session = tmp_path / "scripts.jsonl.gz"
    record(list(scripts(KAFKA))[::20], session)
    assert not told_apart(server, session)


def test_mutants_that_no_sequence_notices_are_known() -> None:
    assert mutants().keys() >= INDISTINGUISHABLE.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("id", mutants())
def test_every_mutant_of_the_reference_is_noticed(
    id: str, recorded: Recorded, server: Server, tmp_path: Path
) -> None:
    """The answers of the reference to all sequences tell it from each mutant, or those under the protocols of
    the mutant's own scenario. Of the mutants said to be equivalent most are noticed as well: here a
    replica also meets messages that no correct quorum sends.
    """
    mutant, own = mutants()[id], tmp_path / "own.jsonl.gz"
    if not {edit.module for edit in mutant.edit} <= modules_of_an_adapter():
        pytest.skip("an adapter does not run what this mutant changes")
    if shipped()[mutant.scenario].protocol.preset not in (*DRIVEN, *RELEASES):
        pytest.skip("it is about AlterQuorum or FindQuorum of KIP-595, which have no form on the wire")
    found = told_apart(server, recorded.session, mutant, recorded.deciding(mutant))
    if not found:
        record(sequences_of(mutant), own)
        found = told_apart(server, own, mutant)
    assert found == (id not in INDISTINGUISHABLE), INDISTINGUISHABLE.get(id, "no sequence notices it")
