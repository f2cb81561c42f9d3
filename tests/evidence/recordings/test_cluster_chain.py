"""Logs as chains: what is shared, found and compared is what plain lists of batches would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.history.chain import Batch, Forest, Link

#: A log: the epoch and the number of records of each batch.
LOG = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2)), max_size=6)

Plain = list[tuple[int, int, int]]


def build(forest: Forest, log: list[tuple[int, int]]) -> tuple[Link, Plain]:
    """The log as a chain, and as a list of (base, end, epoch)."""
    link, plain, base = forest.root, [], 0
    for epoch, count in log:
        link = forest.append(link, Batch(base, base + count, epoch, [epoch] * count)).link
        plain.append((base, base + count, epoch))
        base += count
    return link, plain


def shared(one: Plain, other: Plain) -> Plain:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return one[:count]


def end(log: Plain) -> int:
    return log[-1][1] if log else 0


@given(LOG, LOG)
def test_equal_prefixes_are_one_link(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    forest = Forest()
    (one, plain_one), (two, plain_two) = build(forest, first), build(forest, second)
    common = shared(plain_one, plain_two)
    assert one.common(two) is two.common(one)
    assert one.common(two).end == end(common)
    assert one.holds(two) == (common == plain_two)
    assert (one is two) == (plain_one == plain_two)


@given(LOG, st.integers(0, 14))
def test_a_log_up_to_an_offset_ends_with_the_last_whole_batch(
    log: list[tuple[int, int]], offset: int
) -> None:
    link, plain = build(Forest(), log)
    assert link.at(offset).end == end([batch for batch in plain if batch[1] <= offset])


@given(LOG, LOG)
def test_a_twin_is_a_batch_of_the_same_offset_and_epoch_elsewhere(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    forest = Forest()
    _, known = build(forest, first)
    link, base = forest.root, 0
    seen: Plain = []
    for epoch, count in second:
        appended = forest.append(link, Batch(base, base + count, epoch, [epoch] * count))
        seen.append((base, base + count, epoch))
        same_place = [n for n, other in enumerate(known) if other[1:] == seen[-1][1:]]
        is_known = bool(same_place) and known[: same_place[0] + 1] == seen
        assert (appended.twin is not None) == (bool(same_place) and not is_known)
        link, base = appended.link, base + count
