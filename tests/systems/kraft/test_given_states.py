"""States in `replicas.initial` that no cluster has are refused: the protocol must not be blamed for them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.engine.steps import broken_invariants, initial_states
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.other_protocol import under
from kraftcheck.systems.scenario import find, from_data

LEADER, FOLLOWER = "leader epoch=1 log=1@1 start=0", "follower epoch=1 leader=1"
HAS_IT = f"{FOLLOWER} log=1@1"


def _built(*initial: str, environment: object = None, **replicas: object) -> KRaftSystem:
    """The system of three voters of which the first ones begin in these states; "" is a first start."""
    given_states = {str(number): text for number, text in enumerate(initial, 1) if text}
    data = {
        "name": "given",
        "about": "States that are given.",
        "replicas": {"voters": [1, 2, 3], "initial": given_states, **replicas},
        "network": {"capacity": 8},
        "environment": environment or {},
        "bounds": {"max-epoch": 4},
        "expect": {"verdict": "holds"},
    }
    return build(from_data(data, "given.toml"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "initial",
    [
        (LEADER, FOLLOWER, FOLLOWER),
        (LEADER, HAS_IT),
        (f"{LEADER} hw=1 progress=2:1", HAS_IT, FOLLOWER),
        (f"{LEADER} progress=2:1,3:1", HAS_IT, FOLLOWER),  # the disk of 3 is lost
        (LEADER, "unattached epoch=1 voted=1", "candidate epoch=1"),
        (LEADER, "unattached epoch=2", "unattached epoch=3"),
        # Who has a record need not know who leads, or led, its epoch.
        ("unattached epoch=1 log=1@1", LEADER, f"{FOLLOWER[:-1]}2"),
        ("follower epoch=1 leader=2", "leader epoch=1 log=1@1", "resigned epoch=2 log=1@1"),
        ("candidate epoch=1 granted=1", "unattached epoch=1", "unattached epoch=1 voted=1"),
        ("unattached epoch=1 log=1@2", "unattached epoch=1", ""),  # an old copy of the quorum-state file
    ],
)
def test_a_cluster_is_taken(initial: tuple[str, ...]) -> None:
    system = _built(*initial)
    assert not broken_invariants(system, initial_states(system)[0])


@pytest.mark.parametrize(
    ("initial", "said"),
    [
        ((LEADER,), "elected by 2 of the voters 1, 2, 3, but 1 alone"),
        (("leader epoch=2 log=1@2 start=0", "unattached epoch=1", "unattached epoch=1"), "leader of epoch 2"),
        (("unattached epoch=2 log=1@2",), "leader of epoch 2 was elected"),
        ((LEADER, "unattached epoch=1", "candidate epoch=1"), "1 alone can have voted"),
        ((LEADER, "unattached epoch=1 voted=3", "unattached epoch=1 voted=2"), "1 alone can have voted"),
        (("candidate epoch=1 granted=2", "unattached epoch=1", ""), "granted: 2 cannot have voted"),
        (("candidate epoch=0",), "epoch 1 or a later one"),
        ((FOLLOWER, FOLLOWER, FOLLOWER), "follows another replica"),
        ((LEADER, "follower epoch=3 leader=1", FOLLOWER), "replica 1 has been in epoch 3"),
        (("follower epoch=1 leader=2",), "replica 2 has been in epoch 1, but it begins in epoch 0"),
        (("follower epoch=1 leader=9",), "leader=9 names none of the replicas 1, 2, 3"),
        (("prospective epoch=1 leader=9",), "leader=9 names none"),
        (("unattached epoch=1 voted=9",), "voted=9 names none"),
        ((LEADER, f"{FOLLOWER} awaiting=9", FOLLOWER), "=9 names none"),
        ((f"{LEADER} contacts=9", FOLLOWER, FOLLOWER), "contacts=9 names none"),
        ((f"{LEADER} progress=9:1", FOLLOWER, FOLLOWER), "progress: expected one of its voters, found 9"),
        (("unattached epoch=1 leader=2", "unattached epoch=1", "unattached epoch=1 leader=1"), "two leaders"),
        (
            (f"{LEADER} progress=2:1", FOLLOWER, FOLLOWER),
            "2 of the voters 1, 2, 3 have its log up to offset 1",
        ),
        ((f"{LEADER} hw=1", FOLLOWER, FOLLOWER), "1 alone begin with it"),
        ((LEADER, f"{HAS_IT} hw=5", FOLLOWER), "high watermark must be at most 1"),
        ((LEADER, f"{FOLLOWER} log=2@1", FOLLOWER), "their leader 1 only up to 1"),
        (
            ("unattached epoch=3 log=1@1,1@3", "unattached epoch=3 log=1@2,1@3", "unattached epoch=3"),
            "their logs differ before an offset",
        ),
    ],
)
def test_what_is_no_cluster_is_refused(initial: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        _built(*initial)
    assert str(refused.value).startswith("given.toml: replicas.initial.")


def test_without_elections_epochs_that_had_theirs_may_be_unheard_of() -> None:
    _built("leader epoch=2 log=1@2 start=0", "unattached epoch=1", environment={"timers": []})


@pytest.mark.parametrize("view", [[], [1, 1], [1, 9]])
def test_a_view_is_a_set_of_replicas(view: list[int]) -> None:
    with pytest.raises(InputError, match=r"given.toml: replicas\.views\.1: "):
        _built(views={"1": view})


_EPOCH, _ID = st.integers(0, 3), st.integers(1, 4)
_LOG = st.sampled_from(["", " log=1@1", " log=2@1", " log=1@1,1@2", " log=1@2", " log=1@1,2@3"])
_HIGH_WATERMARK = st.sampled_from(["", "", " hw=1", " hw=2"])
_ROLE = st.one_of(
    st.sampled_from(["leader", "leader start=1", "resigned", "candidate", "prospective", "unattached"]),
    st.builds("{} leader={}".format, st.sampled_from(["follower", "unattached", "prospective"]), _ID),
    st.builds("unattached voted={}".format, _ID),
)
_STATE = st.just("") | st.builds("{} epoch={}{}{}".format, _ROLE, _EPOCH, _LOG, _HIGH_WATERMARK)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(_STATE, max_size=3))
def test_whatever_is_given_is_refused_or_a_cluster(initial: list[str]) -> None:
    try:
        system = _built(*initial)
    except InputError as refused:
        assert str(refused).startswith("given.toml")
        return
    assert not broken_invariants(system, initial_states(system)[0])


def test_a_vote_beside_a_leader_where_a_release_keeps_none() -> None:
    scenario = find("finding-restart-as-candidate")
    build(under(scenario, "kafka-4.0"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"initial\.1: no vote is kept together with a leader"):
        build(under(scenario, "kafka-3.9"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "preset", "said"),
    [
        ("finding-auto-join-undoes-removal", "kafka-4.1", r"auto-join: Kafka has it since 4\.2"),
        ("finding-elected-by-static-voters", "kafka-4.0", r"upgrade: Kafka has it since 4\.1"),
        ("addition-answered-on-append", "kafka-4.1", r"ack-when-appended: Kafka has it since 4\.2"),
    ],
)
def test_what_a_release_cannot_do_yet(name: str, preset: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        build(under(find(name), preset))  # type: ignore[arg-type]
