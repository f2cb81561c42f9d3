"""The blocks of a function, and the part of it that a run executed.

A block is a list of statements of which each runs once the first has begun, unless one raises an exception: a
body, a branch, or the statements after one that may leave its list early. Marked source notes the blocks that
begin. The executed part of a function is its source without the blocks that did not begin: where two versions
of a function agree in that, a run of the one is a run of the other.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Any

#: The global variable of a module in which marked source notes its blocks: an array of bytes.
NOTED = "__blocks__"

#: The syntax tree of a function.
Function = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)
#: They run no function of the module in which they are called, and keep nothing for it.
_PLAIN = frozenset({
    "classmethod", "compile", "dataclass", "dataclass_transform", "frozenset", "overload", "property",
    "register", "replace", "setter", "singledispatch", "staticmethod",
})  # fmt: skip
#: Methods that run while classes or constants are made.
_BY_CLASSES = frozenset({
    "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__",
    "_generate_next_value_",
})  # fmt: skip
#: They change the kind of a function, at any place in it.
_SUSPENDING = (ast.Yield, ast.YieldFrom, ast.Await)


class UnlikeError(Exception):
    """The blocks of a function differ from those that are to be left out of it."""


def functions_in(tree: ast.Module) -> dict[str, Function]:
    """The functions outside other functions, by qualified name; of several with one name, a property and its
    setter for example, the second is ``name#2``.
    """
    found: dict[str, Function] = {}
    for name, node in _functions_below(tree, ""):
        count = sum(each.partition("#")[0] == name for each in found)
        found[f"{name}#{count + 1}" if count else name] = node
    return found


def _functions_below(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, Function):
            yield prefix + each.name, each
        elif isinstance(each, ast.ClassDef):
            yield from _functions_below(each, f"{prefix}{each.name}.")
        elif not isinstance(each, ast.expr):
            yield from _functions_below(each, prefix)


def mark(tree: ast.Module) -> dict[str, range]:
    """Change ``tree`` so that each block of its functions sets its byte in ``NOTED``.

    Returns by name of each function the numbers of its blocks, in the order of the source.
    """
    begin, numbers = 0, {}
    for name, function in functions_in(tree).items():
        end = _mark_below(function, begin)
        numbers[name] = range(begin, end)
        begin = end
    ast.fix_missing_locations(tree)
    return numbers


def _mark_below(node: ast.AST, number: int) -> int:
    """Mark the blocks below ``node``, beginning with ``number``; the number after the last."""
    for statements in _lists_below(node):
        marked: list[ast.stmt] = []
        for block in _blocks(statements):
            marked.append(_note(number, block))
            number += 1
            for each in block:
                number = _mark_below(each, number)
            marked += block
        statements[:] = marked
    return number


def _note(number: int, block: list[ast.stmt]) -> ast.stmt:
    """The statement that notes ``block``, on the line where it begins: guards are watched by lines."""
    made = ast.parse(f"{NOTED}[{number}] = 1").body[0]
    for each in ast.walk(made) if block else ():
        ast.copy_location(each, block[0])
    return made


def _lists_below(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that belong to ``node`` itself, in the order of its fields."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                yield value
            elif isinstance(value[0], ast.ExceptHandler | ast.match_case):
                for each in value:
                    yield from _lists_below(each)


def _blocks(statements: list[ast.stmt]) -> list[list[ast.stmt]]:
    """A list of statements in blocks, without documentation, which has no effect."""
    blocks: list[list[ast.stmt]] = [[]]
    for each in statements:
        if not _is_text(each):
            blocks[-1].append(each)
            if _may_leave(each):
                blocks.append([])
    return [block for block in blocks if block] or [[]]


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _may_leave(node: ast.AST) -> bool:
    if isinstance(node, _LEAVING):
        return True
    return not isinstance(node, _SCOPES) and any(_may_leave(each) for each in ast.iter_child_nodes(node))


def flags_of(function: Function, noted: bytes) -> str:
    """Which blocks of ``function`` began, ``1`` or ``0`` each in the order of the source, from their bytes.

    Blocks within one that did not begin have no flag. Empty: the function did not run, or has no statements.
    Where a function that it has returned runs, all around that counts as begun.
    """
    flags: list[str] = []
    _flag_below(function, noted, 0, flags)
    return "".join(flags) if "1" in flags else ""


def _flag_below(node: ast.AST, noted: bytes, number: int, flags: list[str]) -> int:
    for statements in _lists_below(node):
        for block in _blocks(statements):
            first, within = number, list[str]()
            number += 1
            for each in block:
                number = _flag_below(each, noted, number, within)
            began = any(noted[first:number])
            flags += ["1", *within] if began else ["0"]
    return number


def lines_of(function: Function, flags: str) -> dict[int, bool]:
    """By line of the statements of ``function`` whether a run with these ``flags`` executed it; a statement
    with others in it counts with the lines that are only its own.
    """
    found: dict[int, bool] = {}
    _lines_below(function, iter(flags) if flags else None, found)
    return found


def _lines_below(node: ast.AST, flags: Iterator[str] | None, found: dict[int, bool]) -> None:
    for statements in _lists_below(node):
        for block in _blocks(statements):
            began = flags is not None and next(flags) == "1"
            for each in block:
                found.update(dict.fromkeys(range(each.lineno, (each.end_lineno or each.lineno) + 1), began))
                _lines_below(each, flags if began else None, found)


def seen(function: Function, flags: str) -> str:
    """A digest of the part of ``function`` that a run with these ``flags`` executed: the statements that
    began, the parameters, defaults and decorators, and the names in them that are local.

    Raises UnlikeError where its blocks differ.
    """
    left = iter(flags)
    text: list[str] = []
    mentioned: set[str] = set()
    try:
        _write(function, left, text, mentioned)
    except StopIteration:
        raise UnlikeError from None
    if next(left, None) is not None:
        raise UnlikeError
    text += _scopes(function, mentioned)
    return hashlib.sha256("".join(text).encode()).hexdigest()[:16]


def outside(tree: ast.Module) -> str:
    """A digest of the code that a module runs when it is imported: everything except the bodies of its
    functions.
    """
    for function in functions_in(tree).values():
        function.body = []
    return whole(tree)


def is_plain(tree: ast.Module) -> bool:
    """Whether all that the functions of a module do is done when they are called, each time anew.

    Otherwise a run of them does not show what its result depends on: some have run while the module was
    imported, or something keeps what they have answered.
    """
    return all(map(_is_plain, _at_import(tree)))


def _at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that are evaluated when a module is imported."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, Function | ast.ClassDef):
        called = node.name in _BY_CLASSES or (isinstance(node, ast.ClassDef) and _initializes_members(node))
        return not called and all(map(_is_plain_call, node.decorator_list))
    if isinstance(node, ast.Call):
        return _is_plain_call(node)
    # An empty one is there to be filled.
    if isinstance(node, ast.Dict):
        return bool(node.keys)
    return not isinstance(node, ast.List) or bool(node.elts)


def _is_plain_call(node: ast.expr) -> bool:
    """Whether a call or a decorator makes a value, or is one of ``_PLAIN``."""
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _PLAIN or name[:1].isupper()


def _initializes_members(node: ast.ClassDef) -> bool:
    """Whether a class is an enumeration whose members run a function of it when they are made."""
    is_enumeration = any(ast.unparse(base).endswith("Enum") for base in node.bases)
    return is_enumeration and "__init__" in (getattr(each, "name", "") for each in node.body)


def whole(tree: ast.AST) -> str:
    """A digest of a module or function, without documentation and layout."""
    text: list[str] = []
    _write(tree, None, text, set())
    return hashlib.sha256("".join(text).encode()).hexdigest()[:16]


def _write(value: Any, flags: Iterator[str] | None, text: list[str], mentioned: set[str]) -> None:
    """Append to ``text`` the form of ``value``, a part of a syntax tree, without the blocks that did not
    begin.

    Without ``flags`` all is written. Raises StopIteration where there are too few.
    """
    if isinstance(value, ast.AST):
        if isinstance(value, ast.Name):
            mentioned.add(value.id)
        text.append(f"{type(value).__name__}(")
        for name, each in ast.iter_fields(value):
            text.append(f"{name}=")
            _write(each, flags, text, mentioned)
        text.append(")")
    elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
        text.append("{")
        for block in _blocks(value):
            text.append("|")
            if flags is None or next(flags) == "1":
                for each in block:
                    _write(each, flags, text, mentioned)
        text.append("}")
    elif isinstance(value, list):
        text.append("[")
        for each in value:
            _write(each, flags, text, mentioned)
        text.append("]")
    else:
        text.append(f"{value!r};")


def _scopes(node: ast.AST, mentioned: set[str]) -> Iterator[str]:
    """The properties of each scope from ``node`` on, declared at any place in it: the mentioned names that it
    binds, those that it declares to be of another scope, and whether it suspends.
    """
    bound: set[str] = set()
    declared: set[str] = set()
    suspends = False
    inner: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        bound |= _bound_by(each)
        if isinstance(each, ast.Global | ast.Nonlocal):
            declared.update(each.names)
        suspends = suspends or isinstance(each, _SUSPENDING)
        if isinstance(each, _SCOPES):
            inner.append(each)
        else:
            waiting += ast.iter_child_nodes(each)
    yield f"{sorted(bound & mentioned)}{sorted(declared)}{suspends}"
    for each in inner:
        yield from _scopes(each, mentioned)


def _bound_by(node: ast.AST) -> set[str]:
    """The names that a node itself binds in its scope."""
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return {node.name} if node.name else set()
    if isinstance(node, ast.MatchMapping):
        return {node.rest} if node.rest else set()
    return set()
