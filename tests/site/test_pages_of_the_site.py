"""The Markdown of the site: text of catalogues stays text, names become links."""

from __future__ import annotations

from itertools import combinations

import pytest

from kraftcheck.site import architecture, names
from kraftcheck.site.counterexamples import of_scenario, pinned, violated
from kraftcheck.site.markdown import escaped, fence
from kraftcheck.site.navigation import navigation
from kraftcheck.site.picture import Scene, scene_of, svg
from kraftcheck.site.written import page
from kraftcheck.systems.scenario import find, parse, shipped

HOSTILE = "<script>alert(1)</script> [a](javascript:b) `c` **d** | e\n# f ![g](h) &lt; \x1b[31m {: onclick=i}"


def test_text_stays_text() -> None:
    shown = str(escaped(HOSTILE))
    assert not set("<>[]`*|\n\x1b{}") & set(shown)
    assert "#" not in shown.replace("&#", "")


def test_a_block_of_code_ends_where_it_ends() -> None:
    assert str(fence("a\n```\n<b>", "toml")).splitlines() == ["```` toml", "a", "```", "<b>", "````"]


def test_names_become_links_but_not_in_links_and_commands_of_none() -> None:
    text = "VOTE-10 and [VOTE-10](x.md), `kraftcheck check zombie-leader`, `zombie`, S-1, NOT-9."
    linked = names.linked(text, "findings/one.md")
    assert linked == (
        "[VOTE-10](../rules/VOTE-10.md) and [VOTE-10](x.md), "
        "[`kraftcheck check zombie-leader`](../scenarios/zombie-leader.md), `zombie`, "
        "[S-1](../properties/SingleLeaderPerEpoch.md), NOT-9."
    )


def test_blocks_and_headings_are_left_alone() -> None:
    text = "# VOTE-10\n\n```\nVOTE-10 [a](b.md)\n```\n\n[a](../CONTRIBUTING.md#x)\n"
    assert page(text, "docs/a.md", "a.md", {}) == text.replace("../CONTRIBUTING.md", "contributing.md")


def test_a_link_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match=r"docs/a\.md: b\.md"):
        page("[a](b.md)", "docs/a.md", "a.md", {})


def test_a_picture_shows_who_takes_part_and_is_inert() -> None:
    drawing = svg(scene_of(find("zombie-leader")), "<b>")
    assert drawing.count('class="node voter') == 3 and drawing.count('class="cut"') == 2
    assert "voter 1 (leader, epoch 1)" in drawing and "<b>" not in drawing
    # In the order of names, whatever the order of the set is in this process.
    words = [f"{one} and {other} are cut off from each other" for one, other in combinations("1234", 2)]
    assert str(Scene((), frozenset(map(frozenset, combinations("4321", 2))))) == "; " + "; ".join(words)


@pytest.mark.slow
def test_the_architecture_is_that_of_the_sources() -> None:
    found = architecture.packages()
    assert {"spec", "reference", "engine", "cli", "site"} <= {*found} and "kraftcheck" not in found
    assert found.has_edge("systems", "engine") and not found.has_edge("engine", "systems")
    drawing = architecture.svg()
    assert drawing.count("<rect") == len(found) and "\n" not in drawing
    assert "traces imports systems" in drawing


@pytest.mark.slow
def test_every_scenario_has_a_picture() -> None:
    for scenario in shipped().values():
        assert svg(scene_of(scenario), "").count("<circle") >= 1
    text = 'name = "a"\nabout = "b"\nexpect = { verdict = "holds" }\n'
    text += "replicas = { voters = [1], observers = [2] }"
    assert [len(row) for row in scene_of(parse(text)).rows] == [1, 1]


@pytest.mark.slow
def test_navigation_has_every_page_once() -> None:
    listed = []

    def collect(item: object) -> None:
        if isinstance(item, str):
            listed.append(item)
        for each in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            collect(each)

    collect(navigation({}))
    assert len(listed) == len(set(listed)) > 1000


@pytest.mark.slow
def test_the_kept_counterexamples_are_up_to_date() -> None:
    notes: list[str] = []
    for scenario in violated():
        found = of_scenario(scenario, notes.append)
        assert {name for each in found for name in each.violated} <= {*scenario.expect.violates}
    assert notes == [], "run: python -m kraftcheck.site.counterexamples"
    assert {*pinned()} == {each.name for each in violated()}
