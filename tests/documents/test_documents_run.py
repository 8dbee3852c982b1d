"""Every block of the README and of the guides does what it says."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import embedding_server
import pytest
import quicker as quickened
import stand_ins
from fences import DOCUMENTS, ROOT, Block, Command, blocks, commands, last_call, name_of
from quicker import (
    ENGINES,
    INSTEAD,
    MEASURING,
    SHELL,
    SKIPPED,
    TOOLKITS,
    fewer_repetitions,
    quicker,
    quicker_functions,
)

import wordbias
from wordbias.wordlists import Attribute, load_queries

Run = Callable[..., Any]
OUTPUTS = (
    "-o",
    "--output",
    "--export",
    "--masked",
    "--plot",
    "--save",
    "--save-transform",
    "--sentences",
)
"""What follows is written; `--sentences` only by winobias."""
RUN = [path for path in DOCUMENTS if blocks(path)]


class Reader:
    """Somebody who types what a document says, in a folder of stand-ins."""

    def __init__(self, path: Path, cli: Run, folder: Path) -> None:
        self.path, self.cli, self.folder = path, cli, folder
        self.names: dict[str, Any] = {"__name__": "document"}
        self.made: set[str] = set()

    def follow(self) -> None:
        """Do all that the document says, in its order."""
        fenced = blocks(self.path)
        for block in fenced:
            if block.language == "toml":
                self._write_toml(block)
        for block in fenced:
            getattr(self, f"_{block.language}")(block)

    def _sh(self, block: Block) -> None:
        for command in commands(block):
            self._do(command)

    _console = _sh

    def _yaml(self, block: Block) -> None:
        """Run the steps of a workflow."""
        steps = re.findall(r"- run: (.+)", block.text)
        assert steps
        self._sh(Block("sh", "\n".join(steps), block.line, ""))

    def _python(self, block: Block) -> None:
        if re.search(
            rf"^(import|from) ({'|'.join([*ENGINES, *TOOLKITS])})\b", block.text, re.MULTILINE
        ):
            return
        if re.search(r"^(import|from) fairlearn\b", block.text, re.MULTILINE):
            pytest.importorskip("fairlearn")
        at = f"{name_of(self.path)}, line {block.line}"
        self._prepare(re.findall(r'"([^"]+)"', block.text))
        if '"integrations/' in block.text:
            shutil.copytree(ROOT / "integrations", "integrations", dirs_exist_ok=True)
        code = compile("\n" * (block.line - 1) + block.text, at, "exec")
        with contextlib.redirect_stdout(io.StringIO()), fewer_repetitions():
            exec(code, self.names)

    def _text(self, block: Block) -> None:
        """Compare what a command printed with what it prints."""
        call = last_call(block.before)
        done = self.cli(*call.split()[1:])
        assert done.code == 0, done.err
        assert done.out == block.text, f"line {block.line}: {call} prints\n{done.out}"

    def _json(self, block: Block) -> None:
        json.loads(block.text)

    def _toml(self, block: Block) -> None:
        path, tables = self.folder / _toml_name(block), tomllib.loads(block.text)
        if all(isinstance(table, dict) and "command" in table for table in tables.values()):
            return  # a file of checks, which `wordbias run` reads
        if "queries" in tables:
            assert load_queries(path)
        else:
            assert len(Attribute.load(path).groups) > 1

    def _write_toml(self, block: Block) -> None:
        (self.folder / _toml_name(block)).write_text(block.text, encoding="utf-8")

    def _do(self, command: Command) -> None:
        program = command.words[0]
        at = f"{name_of(self.path)}, line {command.line}: {command.source}"
        if program == "wordbias":
            self._wordbias(command, at)
        elif program == "python":
            self._script(command, at)
        elif program in SHELL:
            self._prepare(list(command.words))
            pipe = ["bash", "-c", command.source]
            done = subprocess.run(pipe, cwd=self.folder, capture_output=True, check=False)
            assert done.returncode == 0, (at, done.stderr)
        else:
            assert program in SKIPPED, f"{at}\nneither wordbias nor known: {program}"

    def _wordbias(self, command: Command, at: str) -> None:
        words = quicker(command.words)
        self._prepare(words)
        with fewer_repetitions():
            done = self.cli(*words)
        assert done.code == 0, f"{at}\n{done.err}"
        if command.redirected:
            (self.folder / command.redirected).write_text(done.out, encoding="utf-8")

    def _prepare(self, words: list[str]) -> None:
        """Make what a command reads and is not there; clear what it writes and stands in."""
        settings = [part for word in words for part in re.split("[:=,]", word)[1:]]
        for before, word in [
            *itertools.pairwise(["", *words]),
            *(("", setting) for setting in settings),
        ]:
            name = word.partition("::")[0]
            if name not in stand_ins.STAND_INS:
                continue
            written = before in OUTPUTS and (before, words[0]) != ("--sentences", "ceat")
            if written and name in self.made:
                self.made.remove(name)
                _remove(self.folder / name)
            elif not written and not (self.folder / name).exists():
                self.made.add(name)
                stand_ins.STAND_INS[name](self.folder / name)

    def _script(self, command: Command, at: str) -> None:
        """Ask a script for its help; `python -m venv` is not run."""
        script = command.words[1]
        if script == "-m":
            assert importlib.util.find_spec(command.words[2]), at
            return
        assert (ROOT / script).is_file(), at
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [script, "--help"])
            patch.syspath_prepend(str((ROOT / script).parent))
            with pytest.raises(SystemExit) as left:
                runpy.run_path(str(ROOT / script), run_name="__main__")
        assert not left.value.code, at


def _toml_name(block: Block) -> str:
    first = block.text.split("\n", 1)[0]
    if first.startswith("# "):
        return first.removeprefix("# ")
    return f"{tomllib.loads(block.text)['name']}.toml"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


class _NothingFound:
    """What a coreference system says of a text in which it finds one cluster."""

    def get_clusters(self, as_strings: bool) -> list[list[tuple[int, int]]]:
        assert not as_strings
        return [[(0, 3), (4, 7)]]


class _FCoref:
    def predict(self, texts: list[str]) -> list[_NothingFound]:
        return [_NothingFound() for _ in texts]


@pytest.fixture
def reader(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Reader]:
    """Make a reader; fastcoref, a large model, is stood in for, and premises are few."""
    for name in ("torch", "transformers", "matplotlib"):
        pytest.importorskip(name)
    fastcoref: Any = types.ModuleType("fastcoref")
    fastcoref.FCoref = _FCoref
    monkeypatch.setitem(sys.modules, "fastcoref", fastcoref)
    stand_ins.few_premises(monkeypatch)
    for name, function in quicker_functions():
        monkeypatch.setattr(wordbias, name, function)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    return lambda path: Reader(path, cli, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=map(name_of, RUN))
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:.* is sent .* texts?:wordbias.calls.WordbiasWarning")
def test_a_document_does_what_it_says(
    path: Path, reader: Callable[[Path], Reader], request: pytest.FixtureRequest
) -> None:
    code = "\n".join(block.text for block in blocks(path))
    if "hf://" in code:
        hub = request.getfixturevalue("hub")
        folder = request.getfixturevalue("tmp_path_factory").mktemp("made")
        for name, write in stand_ins.ON_THE_HUB.items():
            write(folder / Path(name).name)
            hub.put_folder(name, folder / Path(name).name)
    with embedding_server.serving(embedding_server.drawn) as server:
        request.getfixturevalue("monkeypatch").setattr(quickened, "ENDPOINT", server.url)
        reader(path).follow()


def test_nothing_is_quickened_that_no_document_calls() -> None:
    called = {
        command.words[1]
        for path in RUN
        for block in blocks(path)
        if block.language in ("sh", "console")
        for command in commands(block)
        if command.words[0] == "wordbias"
    }
    assert {*INSTEAD, *MEASURING} <= called


def test_nothing_stands_in_that_no_document_names() -> None:
    code = "\n".join(block.text for path in RUN for block in blocks(path)) + str(INSTEAD)
    assert [name for name in stand_ins.STAND_INS if name not in code] == []


@pytest.mark.parametrize(
    ("source", "words", "redirected"),
    [
        ("$ wordbias misp a.txt  # said", ("wordbias", "misp", "a.txt"), None),
        ("wordbias misp a.txt \\\n  --mhd", ("wordbias", "misp", "a.txt", "--mhd"), None),
        ("wordbias misp 'a b' > c.json", ("wordbias", "misp", "a b"), "c.json"),
    ],
)
def test_shell_lines_are_taken_apart(
    source: str, words: tuple[str, ...], redirected: str | None
) -> None:
    (command,) = commands(Block("sh", source, 1, ""))
    assert (command.words, command.redirected, command.line) == (words, redirected, 1)


def test_what_a_console_prints_is_no_command() -> None:
    parsed = commands(
        Block("console", "$ wordbias misp && wordbias lists\nMISP on the sample\n", 7, "")
    )
    assert [command.words for command in parsed] == [("wordbias", "misp"), ("wordbias", "lists")]
    assert [command.line for command in parsed] == [7, 7]
