"""Scenario files as newcomers write them: each mistake is told with its line, its key and what to do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.support.closest import closest, did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.toml_text import lines_of
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find, load, parse

GOOD = """\
name = "two-voters"
about = "Two voters elect a leader."

[replicas]
voters = [1, 2]

[bounds]
max-epoch = 2

[check]
goals = ["GoalLeaderElected"]

[expect]
verdict = "holds"
"""
BROKERS = """\
name = "one-broker"
about = "A broker starts."
brokers = { starting = [1] }
expect = { verdict = "holds" }
"""
EVENTUALLY = '[[check.eventually]]\nproperty = "LeaderEventuallyElected"\ngoal = "a-leader"\n'

_BOUNDS = "[bounds]\nmax-epoch = 2"
_GOAL = '["GoalLeaderElected"]'
_TO_CHECK = "[1, 2]\n\n[bounds]\nmax-epoch = 2\n\n[check]\n"
_FOLLOWS = "'follower epoch=1 leader=1'"
_LED = f"initial = {{ '1' = 'leader epoch=1 log=1@1 start=0', '2' = {_FOLLOWS}, '3' = {_FOLLOWS} }}"

#: What is replaced in GOOD ("": the whole file), by what, and what is said: "line: key: sentence".
NOT_TOML = [
    ('"two-voters"', "two-voters", '1: two-voters is no value; a text stands in double quotes: "two-voters"'),
    ('"two-voters"', "“two-voters”", "1: the quotes are typographic; write straight ones"),
    ('"two-voters"', '"two-voters', "1: the text is not closed by a quote on its line"),
    ('"two-voters"', '"\x1btwo-voters"', "1: this is a control character; leave it out"),
    ('"two-voters"', '"two-voters"  # \x01', "1: this is a control character; leave it out"),
    ('name = "two-voters"', "name =", "1: there is no value after '='"),
    ("name =", "name:", "1: '=' stands between a key and its value: name = …"),
    ("voters =", "voters", "5: each line is a table, [name], or a key and its value, key = …"),
    ("max-epoch", "max epoch", "8: a key has no spaces: max-epoch = …"),
    ("[bounds]", "[bounds", "7: the brackets do not match: write [name]"),
    ("[bounds]", "[bounds]]", "7: the brackets do not match: write [name]"),
    ("[1, 2]", "[1, 2", "7: the list is not closed; ']' is missing"),
    ("[1, 2]", "[1, 2, x = 3]", "5: a value is expected where 'x = 3' stands; a ']' or a quote is missing"),
    ("[1, 2]", "1, 2", "5: only a comment (# …) follows a value on its line"),
    ("= 2", "= 2 epochs", "8: only a comment (# …) follows a value on its line"),
    ("= 2", "= 02", "8: a number has no zeros before it"),
    ("[bounds]", "// bounds\n[bounds]", "7: a comment begins with '#'"),
    ("= 2", "= 2\ndiscovery = True", "9: True is no value; write true or false, in small letters"),
    ("= 2", "= None", "8: None is no value; leave the key out"),
    ('"Two voters', '"C:\\Users voters', "2: a text in double quotes has no single backslash"),
    (_BOUNDS, "bounds = {\n  max-epoch = 2\n}", "7: an inline table { … } stands on one line"),
    (_BOUNDS, "bounds = { max-epoch = 2, }", "7: an inline table has no comma before its '}'"),
    ("= 2", "= 2\nmax-epoch = 3", "9: 'max-epoch' is given twice, the first time on line 8"),
    ("[expect]", "[bounds]\n[expect]", "13: [bounds] was written before on line 7; keep one"),
    ("", f"check = {{ goals = [] }}\n{EVENTUALLY}", "2: this adds to 'check', which is complete on line 1"),
    ("[replicas]", "- replicas:", "4: this looks like YAML"),
    ("", '{ "name": "two-voters" }', "1: this looks like JSON"),
    ("", "two voters elect a leader", "1: each line is a table, [name]"),
]
#: The same of what is TOML.
NO_SCENARIO = [
    ("", "", 'name: is missing; for example name = "two-voters"'),
    ("[expect]\nverdict", "verdict", "13: check.verdict: is not a known key here, but one of [expect]"),
    ("voters =", "voter =", "5: replicas.voter: is not a known key; did you mean 'voters'?"),
    ("max-epoch", "max_epoch", "8: bounds.max_epoch: is not a known key; did you mean 'max-epoch'?"),
    ("max-epoch", "epochs", "8: bounds.epochs: is not a known key here, but one of [reduction]"),
    ("[bounds]\n", "", "7: replicas.max-epoch: is not a known key here, but one of [bounds]"),
    ("[bounds]", "[bound]", "7: bound: is not a known key; did you mean 'bounds'?"),
    ("= 2", "= 2\ntags = ['ci']", "9: bounds.tags: is not a key of this table, but of the file; write it"),
    ("= 2", '= "2"', "8: bounds.max-epoch: should be a whole number, without quotes"),
    ("= 2", "= 2000", "8: bounds.max-epoch: should be less than or equal to 20"),
    ("= 2", "= 0", "8: bounds.max-epoch: should be greater than or equal to 1"),
    ("= 2", f"= {'9' * 10_000}", "not a TOML file (Exceeds the limit (4300 digits)"),
    ("[1, 2]", f"[1, 2, 3]\n{_LED}\n[network]\ncapacity = 1", "2 messages are in flight in the beginning"),
    (
        _TO_CHECK,
        f"[1, 2, 3]\n{_LED}\n[check]\nproperties = ['RemovedVoterDisturbsNobody']\n",
        "check: 'RemovedVoterDisturbsNobody' speaks of a removed voter",
    ),
    ('"two-voters"', "2", '1: name: should be a text, in double quotes: "2"'),
    ('"two-voters"', '"Two voters"', "1: name: 'Two voters' is not a name: small letters, digits and '-'"),
    ("[1, 2]", "2", "5: replicas.voters: should be a list, such as [2]"),
    ("[1, 2]", '["a", 2]', "5: replicas.voters.0: should be a whole number, without quotes"),
    ("[1, 2]", "[]", "5: replicas.voters: should have at least 1 entry"),
    ("[1, 2]", "[1, 1]", "4: replicas: a replica is listed twice"),
    ("[bounds]", "[[bounds]]", "7: bounds: should be a table; write [bounds] with one bracket on each side"),
    ('"holds"', '"hold"', "14: expect.verdict: should be 'holds' or 'violated'; did you mean 'holds'?"),
    ('"holds"', "true", "14: expect.verdict: should be 'holds' or 'violated'"),
    ('"holds"', '"violated"', "13: expect: the verdict 'violated' needs violates"),
    ('"holds"', '"violated"\nviolates = ["NoFatl"]', "'NoFatl' is no property; did you mean 'NoFatal'?"),
    (_GOAL, '["NoFatal"]', "11: check.goals.0: NoFatal is a property and no goal; leave it out"),
    (_GOAL, '["LeaderElected"]', "'LeaderElected' is no goal; did you mean 'GoalLeaderElected'?"),
    (_GOAL, '["LeaderEventuallyElected"]', "is an eventually property; ask for it in [[check.eventually]]"),
    (_GOAL, '["follower->candidate"]', "is no goal; did you mean 'Follower->Candidate'?"),
]
#: The same of keys of a table that is added to GOOD, or of its table [check].
ADDED = {
    "environment": [
        ("timers = ['elections']", "11: environment.timers.0: should be 'election'"),
        ("write-back = 'yes'", "11: environment.write-back: should be true or false"),
        ("tick = 5", "environment.tick, clock: no clock runs without budgets.ticks"),
        ("wipes-at = [1]", "environment.wipes-at: there are no budgets.wipes to spend there"),
        ('timers-at = { "²" = [] }', "11: environment.timers-at: '²' is not one of the replicas 1, 2"),
        (f'timers-at = {{ "{"9" * 5_000}" = [] }}', f"timers-at: '{'9' * 40}' is not one of the replicas"),
    ],
    "network": [
        ("cut = '1-2'", '11: network.cut: should be a list, such as ["1-2"]'),
        ("cut = ['1 - 2']", "11: network.cut.0: '1 - 2' is not a link: '1-2' is cut"),
        ("cut = ['1-3']", "11: network.cut: '3' is not one of the replicas 1, 2"),
        ("cut = ['1-1']", "11: network.cut: '1-1' is no link between two replicas"),
    ],
    "budgets": [("faults = 1", "11: budgets.faults: is not a known key; known are appends, ")],
    "protocol": [
        ("preset = 'KIP-996'", "11: protocol.preset: should be 'kafka', 'kafka-3.9', "),
        ("set = { state-machin = 'pre996' }", "no switch 'state-machin'; did you mean 'state-machine'"),
        ("set = { follower-pre-vote = 'on' }", "10: protocol: switch 'follower-pre-vote' has no value 'on'"),
        ("set = { check-quorum = 'yes' }", "switch 'check-quorum' takes true or false, not 'yes'"),
        (
            "set = { fetch-max-batches = -4 }",
            "'fetch-max-batches' takes a number from 1 to 2147483647, not -",
        ),
        ("set = { fetch-timeout-ms = 0 }", "switch 'fetch-timeout-ms' takes a number from 1 to 2147483647"),
    ],
    "brokers": [("running = [1]", "replicas and brokers are tables of different scenarios")],
    "replicas": [
        ("initial = { '1' = 'boss epoch=1' }", "initial.1: replica: expected unattached, prospective, cand"),
        (
            "initial = { '1' = 'unattached epoch=5', '2' = 'unattached epoch=5' }",
            "replica 1 begins in epoch 5, beyond bounds.max-epoch 2",
        ),
    ],
    "check": [
        ("properties = ['Nice']", "'Nice' is no property; 'kraftcheck rules --properties' lists them"),
        (
            "properties = ['LeaderEventuallyElected']",
            "11: check.properties.0: LeaderEventuallyElected is an eventually property; ask for it in "
            "[[check.eventually]], with property = 'LeaderEventuallyElected' and goal = 'a-leader'",
        ),
        ("properties = ['GoalLeaderElected']", "GoalLeaderElected is a goal; ask for it in check.goals"),
        ("only = ['SingleLeader']", "11: check.only.0: 'SingleLeader' is no property; did you mean"),
        ("properties = ['S-1']", "S-1 is the id of SingleLeaderPerEpoch; give its name"),
        ("only = ['NoFatal']\nwithout = ['NoFatal']", "'NoFatal' is asked for in only or properties; choose"),
        ("properties = ['ReturningReplicaDeposesNobody']", "a leader from which a majority fetches"),
    ],
}
#: The same of a table [[check.eventually]].
OF_EVENTUALLY = [
    ("[[check.eventually]]", "[check.eventually]", "13: check.eventually: should be a list of tables; write"),
    ('"LeaderEventuallyElected"', '"NoFatal"', "14: check.eventually.0.property: NoFatal is judged in every"),
    ("a-leader", "leader", "15: check.eventually.0.goal: should be 'a-leader'"),
    ("a-leader", "all-caught-up", "13: check.eventually.0: goal 'all-caught-up' does not say what LeaderEv"),
    ('"a-leader"', "'a-leader'\nform = 'leads-to'", "13: check.eventually.0: when goes with the form"),
]


def _mistakes() -> Iterator[tuple[str, str, str]]:
    yield from (*NOT_TOML, *NO_SCENARIO)
    for table, rows in ADDED.items():
        known = f"[{table}]\n" in GOOD
        for keys, said in rows:
            yield ("[check]", f"[{table}]\n{keys}\n[check]", said) if not known else (
                f"[{table}]\n", f"[{table}]\n{keys}\n", said,
            )  # fmt: skip
    for old, new, said in OF_EVENTUALLY:
        yield "[expect]", f"{EVENTUALLY.replace(old, new)}[expect]", said


@pytest.mark.parametrize(("old", "new", "said"), [*_mistakes()], ids=lambda value: value[:40])
def test_a_mistake_is_told(old: str, new: str, said: str) -> None:
    text = GOOD.replace(old, new, 1) if old else new
    with pytest.raises(InputError) as caught:
        scenario = parse(text, "mine.toml")
        kind_of(scenario).build(scenario)
    lines = str(caught.value).splitlines()
    assert any(said in line for line in lines), lines
    assert all(line.startswith("mine.toml") and line.endswith((".", "?")) for line in lines)
    assert all(line.isprintable() and len(line) < 900 for line in lines)


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("voters =", "voter =").replace("max-epoch = 2", "max-epoch = 0\nmax_log = 1")
    with pytest.raises(InputError) as caught:
        parse(text.replace('"GoalLeaderElected"', '"GoalElected", "NoFatal"'), "mine.toml")
    first, *others = str(caught.value).splitlines()
    assert first == "mine.toml: 5 mistakes; see docs/scenarios.md."
    assert [line.partition(": ")[0] for line in others] == [f"mine.toml:{n}" for n in (5, 8, 9, 12, 12)]


@pytest.mark.slow
def test_of_many_mistakes_the_first_are_told() -> None:
    with pytest.raises(InputError) as caught:
        parse(GOOD + "".join(f"key{number} = 1\n" for number in range(100)), "mine.toml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("mine.toml: 100 mistakes") and lines[-1] == "mine.toml: and 90 more."
    assert len(lines) == 12
    begin = time.process_time()
    with pytest.raises(InputError, match=r"mine\.toml: 10000 mistakes"):
        parse(GOOD + "".join(f"key{number} = 1\n" for number in range(10_000)), "mine.toml")
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('check = { only = ["NoFatal"] }', "no check of scenarios of this kind judges NoFatal"),
        ('check = { only = ["IsrWellFromed"] }', "did you mean 'IsrWellFormed'?"),
        ('check = { properties = ["LiveBrokerEventuallyServes"] }', "goal = 'connected-serve'"),
        ('check = { goals = ["GoalBrokerServe"] }', "did you mean 'GoalBrokerServes'?"),
        ("protocol = { set = { broker-time-out = 2 } }", "5: protocol.set: there is no switch"),
    ],
)
def test_the_same_of_brokers(key: str, said: str) -> None:
    with pytest.raises(InputError, match=r"mine\.toml:5: ") as caught:
        scenario = parse(f"{BROKERS}{key}\n", "mine.toml")
        kind_of(scenario).build(scenario)
    assert said in str(caught.value)


def test_what_editors_add_does_not_matter(tmp_path: Path) -> None:
    """A byte order mark, tabs and the line ends of Windows."""
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").replace(" = ", "\t=\t").encode())
    assert load(file) == load(str(file)) == parse(GOOD)
    file.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(InputError, match="is UTF-16 text; save it as UTF-8"):
        load(file)


def test_a_scenario_that_is_not_there() -> None:
    with pytest.raises(InputError, match="did you mean 'three-voters-elect'"):
        find("three-voter-elect")
    with pytest.raises(InputError, match="'kraftcheck check --list' lists them"):
        find("x" * 100_000)


def test_lines_are_those_of_the_keys() -> None:
    text = 'a = """\n#\n"""\nb = { c = [1,\n [2, { d = 1.5 }]], "e.f" = 1 }\n'
    text += '[[g.h]]\ni = 1\n[[g.h]]\n[g.h.j]\nk.l = ""\n'
    found = lines_of(text)
    assert found["b", "c", 1, 1, "d"] == found["b", "e.f"] == 5
    assert found["g",] == 6 and found["g", "h", 0, "i"] == 7 and found["g", "h", 1, "j", "k", "l"] == 10


@given(st.text("[]{}=,.#\"'\n ab1", max_size=60))
def test_any_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "mine.toml")
    assert all(line.isprintable() for line in str(caught.value).splitlines())


def test_close_names() -> None:
    assert closest("GOAL_LEADER elected", ["goal-leader-elected", "other"]) == ["goal-leader-elected"]
    assert did_you_mean("ac", ["abc", "acd", "xyz"], most=3) == "; did you mean 'acd' or 'abc'?"
    assert did_you_mean("nothing", ["like", "it"]) == ""
