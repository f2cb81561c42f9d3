"""What a run sees of a function: against what the function does, for programs made at random."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.checking.coverage import blocks


def run(source: str, *arguments: Any) -> tuple[str, object]:
    """The flags of the function ``f`` in ``source`` after one call, and what the call gave."""
    tree = ast.parse(source)
    numbers = blocks.mark(tree)["f"]
    noted = bytearray(numbers.stop)
    namespace: dict[str, Any] = {blocks.NOTED: noted}
    exec(compile(tree, "<marked>", "exec"), namespace)
    result = outcome(namespace["f"], *arguments)
    return blocks.flags_of(function(source), noted[numbers.start :]), result


def outcome(called: Any, *arguments: Any) -> object:
    try:
        return called(*arguments)
    except Exception as error:
        return type(error).__name__


def function(source: str, name: str = "f") -> ast.FunctionDef | ast.AsyncFunctionDef:
    return blocks.functions_in(ast.parse(source))[name]


PLAIN = """
def f(x):
    "Documentation."
    if x > 3:
        return 1
    total = 0
    for y in range(x):
        if y == 2:
            break
        total += y
    else:
        total = -total
    try:
        return total // x
    except ZeroDivisionError:
        return 7
"""


@pytest.mark.parametrize(
    ("argument", "flags", "result"),
    [
        # The body and its branch; then the loop, its body with the branch and what follows it, its else; then
        # try, and the handler.
        (5, "11" + "0" + "0", 1),
        (0, "10" + "1" + "00" + "1" + "1" + "11", 7),
        (1, "10" + "1" + "101" + "1" + "1" + "10", 0),
        (3, "10" + "1" + "111" + "0" + "1" + "10", 0),
    ],
)
def test_flags(argument: int, flags: str, result: int) -> None:
    assert run(PLAIN, argument) == (flags, result)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("return 1\n", "return 2\n", True),
        ("return 1\n", "import sys\n        return sys.argv\n", True),
        ("total = 0\n", "total = 1\n", False),
        ("x > 3", "x > 2", False),
        ('"Documentation."', '"Other documentation."', True),
        ('    "Documentation."\n', "", True),
        ("def f(x)", "def f(x, y=1)", False),
        # What is bound in a block that does not begin makes a name local in all others.
        ("return 1\n", "range = 1\n        return range\n", False),
        ("return 1\n", "global range\n        return 1\n", False),
        ("return 1\n", "yield 1\n        return 1\n", False),
        ("return 1\n", "return 1\n    elif x > 2:\n        return 3\n", False),
    ],
)
def test_what_was_not_seen_does_not_matter(before: str, after: str, same: bool) -> None:
    flags, _ = run(PLAIN, 2)
    changed = PLAIN.replace(before, after)
    assert changed != PLAIN
    try:
        equal = blocks.seen(function(changed), flags) == blocks.seen(function(PLAIN), flags)
    except blocks.UnlikeError:
        equal = False
    assert equal == same


# Programs of one function ``f(x)`` with two local variables, as lists of lines.
SIMPLE = st.sampled_from(
    ["a = x", "a += 1", "b = a", "a, b = b, a", "a = len(c)", "x -= 1", "a = (lambda: b)()", "pass"]
)
LEAVING = st.sampled_from(["return a", "return b", "raise KeyError(a)", "a = 1 // b"])
TESTS = st.sampled_from(["a > b", "x > 1", "not a", "b == 2", "x % 2"])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def deeper(bodies: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    def branch(test: str, body: list[str], other: list[str]) -> list[str]:
        return [f"if {test}:", *indented(body), "else:", *indented(other)]

    def loop(body: list[str], other: list[str], leave: str) -> list[str]:
        head = ["for c in ('p', 'qq'):", *indented(body), "    if a > 3:", f"        {leave}"]
        return [*head, "else:", *indented(other)]

    def guarded(body: list[str], handler: list[str]) -> list[str]:
        return ["try:", *indented(body), "except KeyError:", *indented(handler)]

    def within(body: list[str]) -> list[str]:
        return ["def g(a, b, x):", *indented(body), "    return a", "a = g(b, a, x)"]

    one = st.one_of(
        SIMPLE.map(lambda line: [line]),
        LEAVING.map(lambda line: [line]),
        st.builds(branch, TESTS, bodies, bodies),
        st.builds(loop, bodies, bodies, st.sampled_from(["break", "continue"])),
        st.builds(guarded, bodies, bodies),
        st.builds(within, bodies),
    )
    return st.lists(one, min_size=1, max_size=4).map(lambda parts: [line for part in parts for line in part])


BODIES = st.recursive(SIMPLE.map(lambda line: [line]), deeper, max_leaves=12)


def program(body: list[str]) -> str:
    return "\n".join(["c = 'rst'", "def f(x):", "    a = b = 0", *indented(body), "    return a, b, x"])


@pytest.mark.slow
@settings(max_examples=300)
@given(BODIES, st.data())
def test_a_version_that_was_seen_alike_gives_the_same(body: list[str], data: st.DataObject) -> None:
    """An edit of one line: where a run sees nothing of it, the result is as before."""
    before = program(body)
    number = data.draw(st.integers(0, len(body) - 1))
    line = body[number].lstrip()
    if line.endswith(":"):
        new = data.draw(TESTS.map(lambda test: f"if {test}:")) if line.startswith("if ") else line
    else:
        new = data.draw(st.one_of(SIMPLE, LEAVING, st.sampled_from(["len = b", "c = 'u'", "del b"])))
    indent = body[number][: len(body[number]) - len(line)]
    after = program([*body[:number], indent + new, *body[number + 1 :]])
    argument = data.draw(st.integers(-2, 4))
    try:
        compile(after, "<after>", "exec")
    except SyntaxError:
        return
    flags, result = run(before, argument)
    try:
        same = blocks.seen(function(before), flags) == blocks.seen(function(after), flags)
    except blocks.UnlikeError:
        return
    if same:
        assert run(after, argument) == (flags, result)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The name is local in another scope before, and in the function itself after.
        ("def f(x):\n  if x > 9: pass\n  return x, [c for c in 'ab'], c", "if x > 9: c = 1"),
        ("def f(x):\n  if x > 9: pass\n  class A: c = 1\n  return c", "if x > 9: c = 1"),
        # One function suspends before, two after.
        ("def f(x):\n  if x > 9: pass\n  def g(): yield 1\n  return list(g())", "if x > 9: yield 2"),
    ],
)
def test_scopes_are_told_apart(before: str, after: str) -> None:
    before = f"{before}\n"
    flags, _ = run(before, 2)
    assert flags
    changed = before.replace("if x > 9: pass", after)
    assert blocks.seen(function(before), flags) != blocks.seen(function(changed), flags)


def test_a_function_that_only_has_documentation_is_noted() -> None:
    source = "def f(x):\n  'Documentation.'\n"
    flags, result = run(source, 1)
    assert (flags, result) == ("1", None)
    changed = "def f(x):\n  'Documentation.'\n  return 1\n"
    assert blocks.seen(function(source), flags) != blocks.seen(function(changed), flags)


def test_a_function_that_did_not_run_has_no_flags() -> None:
    assert blocks.flags_of(function(PLAIN), bytes(20)) == ""


def test_a_function_that_was_returned_is_a_part_of_the_one_that_made_it() -> None:
    source = "def f(x):\n  y = x\n  def g(z):\n    if z:\n      return y\n    return z\n  return g\n"
    tree = ast.parse(source)
    noted = bytearray(blocks.mark(tree)["f"].stop)
    namespace: dict[str, Any] = {blocks.NOTED: noted}
    exec(compile(tree, "<marked>", "exec"), namespace)
    made = namespace["f"](1)
    noted[:] = bytes(len(noted))
    assert made(0) == 0
    flags = blocks.flags_of(function(source), noted)
    seen = blocks.seen(function(source), flags)
    assert seen == blocks.seen(function(source.replace("return y", "return 7")), flags)
    assert seen != blocks.seen(function(source.replace("return z", "return 7")), flags)
    assert seen != blocks.seen(function(source.replace("y = x", "y = 7")), flags)


@pytest.mark.parametrize(
    ("source", "is_plain"),
    [
        ("X = Value(1, frozenset({2}))\nTABLE = {1: lambda x: f(x)}\nclass A(B):\n  x: int = 1\n", True),
        ("class A:\n  @property\n  def x(self): return f({})\n  def __len__(self): return g()\n", True),
        ("X = f()\n", False),
        ("class A:\n  X = [f(x) for x in range(3)]\n", False),
        ("def f(x=g()): pass\n", False),
        ("@cache\ndef f(): pass\n", False),
        ("class A:\n  @functools.cached_property\n  def f(self): pass\n", False),
        ("class A:\n  def __post_init__(self): pass\n", False),
        ("class A(Enum):\n  X = 1\n  def __init__(self, x): pass\n", False),
        ("class A:\n  X = 1\n  def __init__(self, x): pass\n", True),
        ("@total_ordering\nclass A: pass\n", False),
        ("KNOWN = {}\n", False),
        ("class A:\n  known: list[int] = []\n", False),
        ("def f(known=[]): pass\n", False),
        ("def f(*, known={}): pass\n", False),
    ],
)
def test_modules_whose_functions_keep_nothing(source: str, is_plain: bool) -> None:
    assert blocks.is_plain(ast.parse(source)) == is_plain


def test_the_second_of_a_name_is_another_function() -> None:
    source = "class A:\n  @property\n  def f(self): return 1\n  @f.setter\n  def f(self, x): self.x = x\n"
    assert list(blocks.functions_in(ast.parse(source))) == ["A.f", "A.f#2"]


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("def f(): return 1", "def f(): return 2", True),
        # It may shadow what is built in, or be looked for by name.
        ("", "def f(): return 2", False),
        ("def f(): return 1", "def g(): return 1", False),
        ("def f(): return 1", "def f(x=1): return 1", False),
        ("from m import f", "from m import f\ndef f(): return 2", False),
        ("def f(): return 1\ndef f(): return 2", "def f(): return 2", False),
        ("", "@print\ndef f(): return 2", False),
        ("class A:\n  pass", "class A:\n  def __eq__(self, other): return True", False),
        ("class A:\n  def f(self): return 1", "class A:\n  def f(self): return 2", True),
        ("X = 1", "X = 2", False),
        ("X = 1", "'Documentation.'\nX = 1 # text", True),
    ],
)
def test_what_a_module_does_when_it_is_imported(before: str, after: str, same: bool) -> None:
    assert (blocks.outside(ast.parse(before)) == blocks.outside(ast.parse(after))) == same
