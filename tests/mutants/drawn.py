"""Random mutations of all code, in contrast to the lists, which we chose ourselves.

A place is an expression or statement to which a standard mutation applies: a comparison changes its boundary or its
direction, an operator or a number is replaced, a condition is negated, a returned value is dropped. Places are ordered
by a hash of the seed and of their text: the same seed draws the same places, also if code is added elsewhere.
"""

import ast
import copy
import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants import COMPILERS, REPOSITORY, Mutant

PACKAGES = ("bandits", "experiments", "scripts")
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Place:
    """Where a mutant changes a file.

    Attributes
    ----------
    lines: the first and the last line of the changed expression or statement.
    body: the same of the smallest function or class around it, or of the file.
    loop: the name of the compiled function around it, whose lines `coverage` cannot measure; empty outside of these.
    """

    mutant: Mutant
    lines: tuple[int, int]
    body: tuple[int, int]
    loop: str = ""


def draw(number: int, seed: int, words: Iterable[str] = ()) -> list[Place]:
    """N random places in files with one of the `words` in their path, or in all files; one mutation of each."""
    asked = list(words)
    files = [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]
    names = [str(path.relative_to(REPOSITORY)) for path in files]
    found = []
    for name in names:
        if not asked or any(word in name for word in asked):
            for options in places(name, (REPOSITORY / name).read_text()):
                digest = hashlib.sha256(f"{seed} {options[0].mutant.digest}".encode()).hexdigest()
                found.append((digest, options[int(digest, 16) % len(options)]))
    ordered = (place for _, place in sorted(found, key=lambda item: item[0]))
    return list(itertools.islice(filter(_is_python, ordered), number))


def places(file: str, source: str) -> Iterator[list[Place]]:
    """Every place of a file, each with its mutations."""
    tree = ast.parse(source)
    lines = [f"{line}\n" for line in source.split("\n")]
    for node, parents in _walk(tree, ()):
        texts = list(_changes(node, parents[0] if parents else tree))
        if texts:
            body = next((_lines_of(of) for of in parents if isinstance(of, ast.FunctionDef | ast.ClassDef)), None)
            loop = next((of.name for of in parents if isinstance(of, ast.FunctionDef) and is_compiled(of)), "")
            old, begin, end = _around(source, lines, node)
            yield [
                Place(Mutant("drawn", file, old, begin + text + end), _lines_of(node), body or (1, len(lines)), loop)
                for text in texts
            ]


def is_compiled(function: ast.FunctionDef) -> bool:
    """Whether a function is compiled to machine code."""
    return any(isinstance(item, ast.Name) and item.id in COMPILERS for item in function.decorator_list)


def _is_python(place: Place) -> bool:
    try:
        ast.parse(place.mutant.changed)
    except SyntaxError:
        return False
    return True


def _walk(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[tuple[ast.expr | ast.stmt, tuple[ast.AST, ...]]]:
    """All nodes that may be mutated, with their parents; no annotations, texts, or code only for type checkers."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node, parents
    skipped = {"annotation", "returns", "decorator_list", "type_comment"}
    for name, value in ast.iter_fields(node):
        if name in skipped or (isinstance(node, ast.If) and name != "orelse" and _is_for_others(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.pattern):
                yield from _walk(child, (node, *parents))


def _is_for_others(node: ast.If) -> bool:
    return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")


def _lines_of(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def _changes(node: ast.expr | ast.stmt, parent: ast.AST) -> Iterator[str]:
    """The mutations of a node in a `parent`, as text."""
    if isinstance(node, ast.Compare):
        for place, known in enumerate(node.ops):
            for other in COMPARED[type(known)]:
                ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield _text(node, ops=ops)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        if not any(_is_text(side) for side in sides):
            yield _text(node, op=COMPUTED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _text(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield _text(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _text(node, value=not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        others = (node.value + 1, node.value - 1) if isinstance(node.value, int) else (2 * node.value or 1.0,)
        yield from (_text(node, value=other) for other in others)
    elif isinstance(node, ast.expr) and node is getattr(parent, "test", None):
        yield f"(not {ast.unparse(node)})"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return None"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "pass"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _text(node: ast.AST, **fields: object) -> str:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    text = ast.unparse(ast.fix_missing_locations(changed))
    return text if isinstance(node, ast.stmt | ast.Constant | ast.Name) else f"({text})"


def _around(source: str, lines: list[str], node: ast.expr | ast.stmt) -> tuple[str, str, str]:
    """Whole lines around a node that occur once in the file, and their text before and after the node."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    begin = lines[first].encode()[: node.col_offset].decode()
    end = lines[last].encode()[node.end_col_offset :].decode()
    above = first
    while above > 0 and source.count("".join(lines[above : last + 1])) > 1:
        above -= 1
    before = "".join(lines[above:first])
    return before + "".join(lines[first : last + 1]), before + begin, end


def naming(word: str) -> Iterator[tuple[str, int]]:
    """The files and lines that use a name; a use in a compiled function is replaced by the uses of that function."""
    waiting, known = [word], set[str]()
    uses = _uses(REPOSITORY)
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        for file, line, loop in uses.get(name, ()):
            if loop:
                waiting.append(loop)
            else:
                yield file, line


@cache
def _uses(root: Path) -> dict[str, list[tuple[str, int, str]]]:
    """By name, the file and line of each use, and the compiled function around it."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    for path in (path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))):
        for node, parents in _walk(ast.parse(path.read_text()), ()):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if name is not None:
                loop = next((of.name for of in parents if isinstance(of, ast.FunctionDef) and is_compiled(of)), "")
                found.setdefault(name, []).append((str(path.relative_to(root)), node.lineno, loop))
    return found
