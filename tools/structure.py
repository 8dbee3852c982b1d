"""Count modules, lines of code and circles of imports, and the files that a call runs.

python tools/structure.py                              # this checkout
python tools/structure.py --check                      # fail at a circle or an upward import
python tools/structure.py --tree FOLDER                # another checkout
python tools/structure.py misp-sample-table probe-json # files and functions that golden calls run
"""

from __future__ import annotations

import argparse
import ast
import configparser
import contextlib
import io
import os
import statistics
import sys
import tempfile
import threading
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parent.parent
EXTREMES = 20


class Module(NamedTuple):
    """Number of lines of one file: all, those with code, and those of import statements."""

    name: str
    lines: int
    code: int
    imports: int


def main() -> None:
    """Print the counts of a checkout, or of calls."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout to look at")
    parser.add_argument("--check", action="store_true", help="fail at circles, upward imports")
    parser.add_argument("calls", nargs="*", metavar="CALL", help="golden calls to follow")
    given = parser.parse_args()
    if given.calls:
        follow(given.tree.resolve(), given.calls)
        return
    if not given.check:
        count(given.tree.resolve())
    if not sound(given.tree.resolve()) and given.check:
        sys.exit(1)


# imports


def sound(tree: Path) -> bool:
    """Print the circles of imports and the upward ones, those inside functions too."""
    imports = imports_of(tree)
    circles = circles_of(imports)
    upward = upward_of(imports, layers_of(tree / "setup.cfg"))
    print(f"circles            {len(circles)} of imports")
    for circle in circles:
        print(f"  {len(circle)} modules: {', '.join(sorted(circle))}")
    print(f"upward imports     {len(upward)}")
    for line in upward:
        print(f"  {line}")
    return not circles and not upward


def imports_of(tree: Path) -> dict[str, set[str]]:
    """Return the modules of the package that each imports, but for type checkers alone."""
    files = {}
    for path in sorted((tree / "wordbias").rglob("*.py")):
        parts = path.relative_to(tree).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    imports = {}
    for name, path in files.items():
        named: set[str] = set()
        for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif node.module:  # a module of a package, or a name in a module
                of = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= of if of <= files.keys() else {*of, node.module}
        imports[name] = named & files.keys() - {name}
    return imports


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements, also those in functions, but not those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from statements(node)


def circles_of(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that import each other, directly or not, the largest first."""
    names = sorted(imports)
    place = {name: i for i, name in enumerate(names)}
    pairs = [(place[a], place[b]) for a in names for b in imports[a] if b in place]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    matrix = coo_array((np.ones(len(pairs)), (rows, columns)), (len(names), len(names)))
    _, labels = connected_components(matrix, connection="strong")
    sizes = np.bincount(labels)
    circles = [
        {names[i] for i in np.flatnonzero(labels == number)} for number in np.flatnonzero(sizes > 1)
    ]
    return sorted(circles, key=lambda circle: (-len(circle), sorted(circle)))


def layers_of(config: Path) -> list[list[str]]:
    """Return the layers of the import contract, the highest first."""
    parser = configparser.ConfigParser()
    parser.read(config, encoding="utf-8")
    lines = parser["importlinter:contract:layers"]["layers"].split("\n")
    return [[name.strip() for name in line.split(":")] for line in lines if line.strip()]


def upward_of(imports: dict[str, set[str]], layers: list[list[str]]) -> list[str]:
    """Return the imports from a layer into a higher one, and modules without a layer."""
    rank = {name: number for number, names in enumerate(layers) for name in names}
    at = {name: rank.get(".".join(name.split(".")[:2])) for name in imports}
    problems = [f"{name}: has no layer" for name in sorted(at) if "." in name and at[name] is None]
    for name in sorted(imports):
        for other in sorted(imports[name]):
            mine, theirs = at[name], at.get(other)
            if mine is not None and theirs is not None and theirs < mine:
                problems.append(f"{name} imports {other}")
    return problems


# lines


def count(tree: Path) -> None:
    """Print modules, lines, the longest and the shortest files."""
    package = tree / "wordbias"
    modules = [
        measured(path, path.relative_to(package).as_posix())
        for path in sorted(package.rglob("*.py"))
    ]
    code = sum(module.code for module in modules)
    imports = sum(module.imports for module in modules)
    lines = [module.lines for module in modules]
    print(f"modules            {len(modules)}")
    print(f"lines              {sum(lines)} (median {statistics.median(lines):g} a file)")
    print(f"lines of code      {code} (no docstrings, comments, blank lines)")
    print(f"lines of imports   {imports} ({imports / code:.1%} of the lines of code)")
    ordered = sorted(modules, key=lambda module: -module.lines)
    for title, extremes in (
        ("longest", ordered[:EXTREMES]),
        ("shortest", ordered[: -EXTREMES - 1 : -1]),
    ):
        print(f"{title}:")
        for module in extremes:
            print(f"  {module.lines:5}  {module.name}")


def measured(path: Path, name: str) -> Module:
    """Count the lines of one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    code = set(lines_of_code(text)) - set(lines_of_docstrings(tree))
    imports = {line for line in lines_of_imports(tree) if line in code}
    return Module(name, text.count("\n"), len(code), len(imports))


def lines_of_code(text: str) -> Iterator[int]:
    """Yield the numbers of lines with anything but a comment."""
    empty = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*empty, tokenize.ENDMARKER):
            yield from range(token.start[0], token.end[0] + 1)


def lines_of_docstrings(tree: ast.AST) -> Iterator[int]:
    """Yield the numbers of lines of strings that are a statement."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def lines_of_imports(tree: ast.AST) -> Iterator[int]:
    """Yield the numbers of lines of import statements, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


# calls


def follow(tree: Path, names: list[str]) -> None:
    """Print in how many files and functions each golden call runs."""
    sys.path[:0] = [str(tree), str(tree / "tests"), str(tree / "tests" / "golden")]
    from calls import CALLS, MAKERS

    from wordbias.cli import run

    known = {call.name: call for call in CALLS}
    for name in names:
        if name not in known:
            sys.exit(f"no golden call {name!r}; they stand in tests/golden/calls.py")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.environ["WORDBIAS_CACHE"] = str(Path(folder) / "cache")
            nowhere = io.StringIO()
            with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
                for file in known[name].inputs:
                    MAKERS[file](Path(file.rstrip("/")))
                functions = functions_run(tree / "wordbias", run, known[name].words)
        files = {code.co_filename for code in functions}
        print(f"{name:24} {len(files):4} files {len(functions):5} functions")


def functions_run(package: Path, call: Any, *arguments: Any) -> set[CodeType]:
    """Call, and return the functions of a package that ran; importing a module is no call."""
    codes: set[CodeType] = set()
    inside = f"{package}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in codes or not code.co_filename.startswith(inside):
            return
        if not importing(frame, inside):
            codes.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return codes


def importing(frame: FrameType | None, inside: str) -> bool:
    """Return whether a frame belongs to the import of a module of the package."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(inside):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main()
