"""Count modules, lines of code, lines of imports, and the files that a call runs.

python tools/structure.py                              # this checkout
python tools/structure.py --tree FOLDER                # another checkout
python tools/structure.py misp-sample-table probe-json # files and functions that golden calls run
"""

from __future__ import annotations

import argparse
import ast
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
    parser.add_argument("calls", nargs="*", metavar="CALL", help="golden calls to follow")
    given = parser.parse_args()
    if given.calls:
        follow(given.tree.resolve(), given.calls)
    else:
        count(given.tree.resolve())


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
    for title, some in (
        ("longest", ordered[:EXTREMES]),
        ("shortest", ordered[: -EXTREMES - 1 : -1]),
    ):
        print(f"{title}:")
        for module in some:
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
                found = functions_run(tree / "wordbias", run, known[name].words)
        files = {code.co_filename for code in found}
        print(f"{name:24} {len(files):4} files {len(found):5} functions")


def functions_run(package: Path, call: Any, *arguments: Any) -> set[CodeType]:
    """Call, and return the functions of a package that ran; importing a module is no call."""
    found: set[CodeType] = set()
    inside = f"{package}{os.sep}"

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in found or not code.co_filename.startswith(inside):
            return
        if not importing(frame, inside):
            found.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call(*arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


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
