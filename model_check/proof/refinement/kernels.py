"""Passes over all states and transitions, compiled. Facts are bits of rows of 64-bit words."""

# Numba infers the types here; annotations would only repeat the docstrings.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np

from kraftcheck.engine.jit import compiled

#: The lack of a transition: bits of its mark.
MISSES, HAS_UNWANTED, BROKEN = 1, 2, 4


@compiled
def forward(parents, steps, adds, takes, pasts, first):
    """The past of each state from number ``first`` on, along the tree of first predecessors.

    parents: int64[states]; steps: int32[states], the number of the step that led there (-1: none); adds,
    takes: uint64[steps, words]; pasts: uint64[states, words], of which the first ``first`` rows are given.
    """
    words = pasts.shape[1]
    for state in range(first, pasts.shape[0]):
        parent, step = parents[state], steps[state]
        for word in range(words):
            value = pasts[parent, word]
            if step >= 0:
                value = (value & ~takes[step, word]) | adds[step, word]
            pasts[state, word] = value


@compiled
def always_and_ever(sources, targets, steps, adds, takes, always, ever):
    """One round over all edges: the facts of a state on every path to it (``always``), and on some
    (``ever``): uint64[states, words] each.

    Returns the number of changed rows; call it until it is 0.
    """
    words = always.shape[1]
    changed = 0
    for edge in range(sources.shape[0]):
        source, target, step = sources[edge], targets[edge], steps[edge]
        moved = False
        for word in range(words):
            on_all, on_some = always[source, word], ever[source, word]
            if step >= 0:
                on_all = (on_all & ~takes[step, word]) | adds[step, word]
                on_some = (on_some & ~takes[step, word]) | adds[step, word]
            on_all &= always[target, word]
            on_some |= ever[target, word]
            if on_all != always[target, word] or on_some != ever[target, word]:
                always[target, word] = on_all
                ever[target, word] = on_some
                moved = True
        changed += moved
    return changed


@compiled
def judge(sources, steps, has, may, wanted, unwanted, broken, marks):
    """Mark the edges whose step lacks a fact it wants (in ``has``) or may have one that it does not (in
    ``may``); ``broken``: uint8[steps], steps that no action explains. Returns the number of marked edges.
    """
    words = has.shape[1]
    found = 0
    for edge in range(sources.shape[0]):
        source, step = sources[edge], steps[edge]
        marks[edge] = 0
        if step < 0:
            continue
        mark = BROKEN if broken[step] else 0
        for word in range(words):
            if wanted[step, word] & ~has[source, word]:
                mark |= MISSES
            if unwanted[step, word] & may[source, word]:
                mark |= HAS_UNWANTED
        marks[edge] = mark
        found += mark != 0
    return found


@compiled
def digests(locals_, projected, pasts, mask, found):
    """A 64-bit digest of each state as a conjunct sees it, to ``found`` (uint64[states]).

    locals_: int32[states, components], numbers of local states; projected: uint64[components, local states],
    digests of the fields that are read; mask: uint64[words], the facts of the past that are read.
    """
    for state in range(locals_.shape[0]):
        value = np.uint64(0)
        for component in range(locals_.shape[1]):
            value += projected[component, locals_[state, component]]
        for word in range(mask.shape[0]):
            value ^= pasts[state, word] & mask[word]
            value *= np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(29)
            value *= np.uint64(0xBF58476D1CE4E5B9)
            value ^= value >> np.uint64(32)
        found[state] = value
