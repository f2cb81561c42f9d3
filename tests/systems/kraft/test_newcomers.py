"""Scenario files as newcomers write them: each mistake is told with its line, its key and what to do."""

from __future__ import annotations

import time
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
    ("[1, 2]", "1, 2", "5: only a comment (# …) follows a value on its line"),
    ("= 2", "= 2 epochs", "8: only a comment (# …) follows a value on its line"),
    ("= 2", "= 02", "8: a number has no zeros before it"),
    ("[bounds]", "// bounds\n[bounds]", "7: a comment begins with '#'"),
    ("= 2", "= 2\ndiscovery = True", "9: True is no value; write true or false, in small letters"),
    ("= 2", "= None", "8: None is no value; leave the key out"),
    ('"Two voters', '"C:\\Users voters', "2: a text in double quotes has no single backslash"),
    (
        "[bounds]\nmax-epoch = 2",
        "bounds = {\n  max-epoch = 2\n}",
        "7: an inline table { … } stands on one line",
    ),
    (
        "[bounds]\nmax-epoch = 2",
        "bounds = { max-epoch = 2, }",
        "7: an inline table has no comma before its '}'",
    ),
    (
        "max-epoch = 2",
        "max-epoch = 2\nmax-epoch = 3",
        "9: 'max-epoch' is given twice, the first time on line 8",
    ),
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
    (
        "= 2",
        "= 2\ntags = ['ci']",
        "9: bounds.tags: is not a key of this table, but of the file; write it above",
    ),
    ("= 2", '= "2"', "8: bounds.max-epoch: should be a whole number, without quotes"),
    ("= 2", "= 2000", "8: bounds.max-epoch: should be less than or equal to 20"),
    ('"two-voters"', "2", '1: name: should be a text, in double quotes: "2"'),
    ('"two-voters"', '"Two voters"', "1: name: 'Two voters' is not a name: small letters, digits and '-'"),
    ("[1, 2]", "2", "5: replicas.voters: should be a list, such as [2]"),
    ("[1, 2]", '["a", 2]', "5: replicas.voters.0: should be a whole number, without quotes"),
    ("[1, 2]", "[1, 1]", "4: replicas: a replica is listed twice"),
    ("[bounds]", "[[bounds]]", "7: bounds: should be a table; write [bounds] with one bracket on each side"),
    ('"holds"', '"hold"', "14: expect.verdict: should be 'holds' or 'violated'; did you mean 'holds'?"),
    ('"holds"', "true", "14: expect.verdict: should be 'holds' or 'violated'"),
    ('"holds"', '"violated"', "13: expect: the verdict 'violated' needs violates"),
    (
        '"holds"',
        '"violated"\nviolates = ["NoFatl"]',
        "15: expect.violates.0: 'NoFatl' is no property; did you mean 'NoFatal'?",
    ),
    (
        "[check]",
        "[environment]\ntimers = ['elections']\n[check]",
        "11: environment.timers.0: should be 'election'",
    ),
    (
        "[check]",
        "[environment]\nwrite-back = 'yes'\n[check]",
        "11: environment.write-back: should be true or false",
    ),
    ("[check]", "[network]\ncut = '1-2'\n[check]", '11: network.cut: should be a list, such as ["1-2"]'),
    (
        "[check]",
        "[network]\ncut = ['1 - 2']\n[check]",
        "11: network.cut.0: '1 - 2' is not a link: '1-2' is cut",
    ),
    ("[check]", "[network]\ncut = ['1-3']\n[check]", "11: network.cut: '3' is not one of the replicas 1, 2"),
    (
        "[check]",
        "[budgets]\nfaults = 1\n[check]",
        "11: budgets.faults: is not a known key; known are appends, ",
    ),
    (
        "[check]",
        "[protocol]\npreset = 'KIP-996'\n[check]",
        "11: protocol.preset: should be 'kafka', 'kip996'",
    ),
    (
        "[check]",
        "[protocol]\nset = { state-machin = 'pre996' }\n[check]",
        "10: protocol: there is no switch 'state-machin'; did you mean 'state-machine'?",
    ),
    (
        "goals =",
        'properties = ["LeaderEventuallyElected"]\ngoals =',
        "11: check.properties.0: LeaderEventuallyElected is an eventually property; ask for it in "
        "[[check.eventually]], with property = 'LeaderEventuallyElected' and goal = 'a-leader'",
    ),
    (
        "goals =",
        'properties = ["GoalLeaderElected"]\ngoals =',
        "11: check.properties.0: GoalLeaderElected is a goal; ask for it in check.goals",
    ),
    (
        "goals =",
        'only = ["SingleLeader"]\ngoals =',
        "11: check.only.0: 'SingleLeader' is no property; did you mean",
    ),
    ("goals =", 'properties = ["S-1"]\ngoals =', "S-1 is the id of SingleLeaderPerEpoch; give its name"),
    (
        _GOAL,
        '["NoFatal"]',
        "11: check.goals.0: NoFatal is a property and no goal; leave it out",
    ),
    (
        _GOAL,
        '["LeaderElected"]',
        "'LeaderElected' is no goal; did you mean 'GoalLeaderElected'?",
    ),
    (
        _GOAL,
        '["LeaderEventuallyElected"]',
        "LeaderEventuallyElected is an eventually property; ask for it in [[check.eventually]]",
    ),
    (
        _GOAL,
        '["follower->candidate"]',
        "'follower->candidate' is no goal; did you mean 'Follower->Candidate'?",
    ),
    (
        "[expect]",
        EVENTUALLY.replace("[[", "[").replace("]]", "]") + "[expect]",
        "13: check.eventually: should be a list of tables; write [[check.eventually]] with two brackets",
    ),
    (
        "[expect]",
        EVENTUALLY.replace("LeaderEventuallyElected", "NoFatal") + "[expect]",
        "14: check.eventually.0.property: NoFatal is judged in every state and step without being asked for",
    ),
    (
        "[expect]",
        EVENTUALLY.replace("a-leader", "leader") + "[expect]",
        "15: check.eventually.0.goal: should be 'a-leader'",
    ),
    (
        "[expect]",
        EVENTUALLY.replace("a-leader", "all-caught-up") + "[expect]",
        "13: check.eventually.0: goal 'all-caught-up' does not say what LeaderEventuallyElected means",
    ),
    (
        "[expect]",
        EVENTUALLY + "form = 'leads-to'\n[expect]",
        "13: check.eventually.0: when goes with the form 'leads-to', which needs it",
    ),
    (
        "[check]",
        "[brokers]\nrunning = [1]\n[check]",
        "replicas and brokers are tables of different scenarios",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), NOT_TOML + NO_SCENARIO, ids=lambda value: value[:40])
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


def test_of_many_mistakes_the_first_are_told() -> None:
    with pytest.raises(InputError) as caught:
        parse(GOOD + "".join(f"key{number} = 1\n" for number in range(100)), "mine.toml")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("mine.toml: 100 mistakes") and lines[-1] == "mine.toml: and 90 more."
    assert len(lines) == 12
    begin = time.process_time()
    with pytest.raises(InputError, match=r"mine\.toml: 30000 mistakes"):
        parse(GOOD + "".join(f"key{number} = 1\n" for number in range(30_000)), "mine.toml")
    assert time.process_time() - begin < 5


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
