"""The command line as a whole, and the command `lists`."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import wordbias
from wordbias import Embedding, __version__
from wordbias import errors as optional
from wordbias.calls import public
from wordbias.cli import SECTIONS
from wordbias.commands.shell import argument, note, shell
from wordbias.docstrings import docstring_of
from wordbias.errors import WordbiasError
from wordbias.reports import Report
from wordbias.results import Row
from wordbias.wordlists import common_names

Run = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [name for section in SECTIONS.values() for name in section]


@pytest.mark.slow
def test_without_docstrings_one_line_says_why() -> None:
    call = [sys.executable, "-OO", "-m", "wordbias", "lists"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "use -O" in done.stderr
    call[1] = "-O"
    assert subprocess.run(call, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command_by_section(cli: Run, flag: str) -> None:
    done = cli(flag)
    assert (done.code, done.err) == (0, "")
    places = [done.out.index(f"\n{title}:") for title in SECTIONS]
    assert places == sorted(places)
    assert all(f"\n  {name} " in done.out for name in COMMANDS)
    assert "wordbias misp" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(cli: Run, command: str) -> None:
    done = cli(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert "Examples:" in done.out
    assert f"    wordbias {command}" in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_every_option_has_help_and_a_number_between_bounds_is_a_number() -> None:
    for name in COMMANDS:
        module = importlib.import_module(f"wordbias.commands.{name.replace('-', '_')}")
        for parameter in module.command.params:
            assert parameter.param_type_name == "argument" or parameter.help, (name, parameter.name)
            if isinstance(parameter.type, click.FloatRange):
                for text in ("nan", "inf", "-inf"):
                    with pytest.raises(click.BadParameter):
                        parameter.type.convert(text, None, None)


def test_a_parameter_that_is_no_option_is_documented() -> None:
    for name in (name.replace("-", "_") for name in COMMANDS):
        command = importlib.import_module(f"wordbias.commands.{name}").command
        options = {option.name for option in command.params}
        parameters = inspect.signature(getattr(wordbias, name)).parameters
        documented = docstring_of(getattr(wordbias, name))[1]
        for parameter in set(parameters) - options:
            assert documented[parameter].kind, parameter
            assert documented[parameter].text, parameter


def test_a_parameter_that_the_function_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match=r"cache: not its parameters \['none'\]"):
        shell(wordbias.cache, examples="wordbias cache", python_only=("none",))


def test_a_command_calls_its_function_with_what_is_typed_and_shows_its_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that what a function returns need not be tested again as what its command prints."""
    given: list[object] = []

    @public
    def made(*data: str, dims: int = 4, groups: object = None, chance: bool = True,
             setting: Sequence[str] = ()) -> Report:  # fmt: skip
        """Measure.

        Parameters
        ----------
        data : str
            Files.
        dims : int
            Number.
        groups : str
            Groups.
        chance : bool
            Chance.
        setting : sequence of str
            Settings.
        """
        given[:] = [data, dims, groups, chance, setting]
        return Report("made", rows=[Row("a", "midb", 0.25, {"low": 0.0})], notes=["few words"])

    command = shell(made, argument("data", many=True), examples="wordbias made")
    typed = ("y", "z", "--dims", "2", "--groups", "age", "--no-chance")
    settings = ("--setting", "a", "--setting", "b")
    for words, values in (
        (("x",), [("x",), 4, None, True, ()]),
        ((*typed, *settings), [("y", "z"), 2, "age", False, ["a", "b"]]),
    ):
        for to in ("json", "table"):
            command.main([*words, "--format", to], standalone_mode=False)
            captured = capsys.readouterr()
            assert given == values
            data, *others = values
            names = ("dims", "groups", "chance", "setting")
            called = made(*data, **dict(zip(names, others, strict=True)))
            assert captured.out.strip() == called.render(to).strip()
            assert captured.err == "note: few words\n"


def test_version(cli: Run) -> None:
    assert cli("--version").out.strip() == f"wordbias, version {__version__}"


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["misp", "--nonsense"]])
def test_wrong_usage_is_status_2_with_a_hint(cli: Run, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"wordbias: .*; see wordbias(?: misp)? --help\n", done.err)


def test_no_argument_shows_the_help(cli: Run) -> None:
    done = cli()
    assert "wordbias misp" in done.out + done.err


@pytest.mark.parametrize(
    "start", [["cli.py"], ["-m", "wordbias"]], ids=["python cli.py", "python -m wordbias"]
)
def test_it_runs_from_a_checkout(start: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *start, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: wordbias ")


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_failure() -> None:
    command = f"{sys.executable} -m wordbias lists --format json | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.splitlines(), done.stderr) == (["{", "0"], "")


@pytest.mark.slow
def test_an_interruption_after_the_end_is_not_heard() -> None:
    code = (
        "import atexit, os, signal, sys\n"
        "from wordbias.cli import main\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv[1:] = ['lists', '--format', 'jsonl']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("{")


@pytest.mark.slow
def test_debug_shows_where_a_failure_came_from(process: Run) -> None:
    done = process("misp", "nowhere.txt", "--debug")
    assert done.code == 1
    assert "Traceback" in done.err
    assert "Traceback" not in process("misp", "nowhere.txt").err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "package", "extra", "said"),
    [
        ("misp -o out.kv", "gensim", "gensim", ""),
        (
            *("audit no-such", "huggingface_hub", "contextual"),
            "no-such: there is no such file or folder; a model by its name on the hub ",
        ),
    ],
)
def test_a_missing_extra_names_the_line_that_installs_it(
    cli: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    package: str,
    extra: str,
    said: str,
) -> None:
    true = optional.importlib.import_module

    def without_package(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return true(name, *rest)

    monkeypatch.setattr(optional.importlib, "import_module", without_package)
    monkeypatch.chdir(tmp_path)
    done = cli(*typed.split())
    lines = [line for line in done.err.splitlines() if not line.startswith("note:")]
    assert done.code == 1
    assert len(lines) == 1
    assert f'{said}needs {package}; install it with: pip install "wordbias[{extra}]"' in lines[0]
    assert list(tmp_path.iterdir()) == []


def test_the_published_lists_give_the_published_sizes(cli: Run, shared_data: Path) -> None:
    """Dev et al. (2020) and Dawkins (2021): 1968, 15744, 62976, 125952 and 1936512 pairs."""
    done = cli("lists", "--lists", shared_data / "dev2020", "--format", "json")
    assert (done.code, done.err) == (0, "")
    sizes = {row["set"]: row["value"] for row in json.loads(done.out)["rows"] if "set" in row}
    assert sizes == {
        "premises": 1968,
        "explicit": 15_744,
        "occupations": 62_976,
        "names": 125_952,
        "dev": 1_936_512,
    }


def test_no_control_character_of_a_file_reaches_the_terminal(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    evil = "\x1b[2Jnurse\u202e"
    rows = [f"{label},{evil},{group}" for label in (evil, "boss") for group in "FM" for _ in "ab"]
    path.write_text("label,predicted,group\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = cli("fairness", path, "--by-class", "--draws", 10)
    assert done.code == 0
    assert "\ufffd[2Jnurse\ufffd" in done.out
    assert not {"\x1b", "\u202e"} & set(done.out + done.err)
    done = cli("misp", "none\x1b[2J.txt")
    assert (done.code, "\x1b" in done.err) == (1, False)
    assert "none\ufffd[2J.txt" in done.err


@pytest.mark.parametrize(
    ("typed", "meant"), [("mesure", "measure"), ("Weat", "weat"), ("mab_eval", "mab-eval")]
)
def test_a_command_that_is_not_there_names_the_nearest(cli: Run, typed: str, meant: str) -> None:
    done = cli(typed)
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == f"wordbias: No such command {typed!r}. Did you mean {meant}?; see wordbias --help\n"
    )


def test_a_command_like_no_other_names_none(cli: Run) -> None:
    done = cli("zzzz")
    assert done.code == 2
    assert done.err == "wordbias: No such command 'zzzz'; see wordbias --help\n"


@pytest.mark.parametrize(
    ("typed", "list_"),
    [
        ("measure --only midb, direct-bias", "midb,direct-bias"),
        ("weat --query 6, 7", "6,7"),
        ("lists --groups age --format json, measures", None),
        ("debias leace v.txt --only midb, weat", "midb,weat"),
    ],
)
def test_a_list_with_a_space_is_told_from_a_file(cli: Run, typed: str, list_: str | None) -> None:
    done = cli(*typed.split())
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert (f"; type a list without a space: {list_}\n" in done.err) == (list_ is not None)


def test_an_option_that_is_not_there_names_the_nearest(cli: Run) -> None:
    done = cli("weat", "--querys", "1")
    assert done.code == 2
    assert "--query" in done.err.replace("--querys", "")


def test_notes_are_broken_between_words_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a note of several words that is longer than a line " * 3
    note(text, quiet=False)
    assert capsys.readouterr().err == f"note: {text}\n"
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    note(text, quiet=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert " ".join(lines) == f"note: {text}".rstrip()


needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes files")


@pytest.mark.slow
@needs_shell
@pytest.mark.parametrize("command", ["misp v.txt -o", "convert v.txt"])
def test_a_closed_stream_is_no_failure(tmp_path: Path, command: str) -> None:
    words = [name.lower() for group in common_names() for name in group]
    vectors = np.random.default_rng(0).standard_normal((len(words), 10)).astype(np.float32)
    Embedding(words, vectors).save(tmp_path / "v.txt")
    streams = ["", ">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"]
    for i, closed in enumerate(streams):
        call = f"'{sys.executable}' -m wordbias {command} {i}.vec {closed}"
        done = subprocess.run(call, shell=True, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, (closed, done.stderr)
        assert "2>" in closed or done.stderr.count(b"Error") == 0
        assert (tmp_path / f"{i}.vec").read_bytes() == (tmp_path / "0.vec").read_bytes()


LONG = "abcdefghij" * 23
WORDS = "a b " * 80
CUT = f"{LONG[:100]}…{LONG[-99:]}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * 200, "x" * 200),
        (LONG, CUT),
        (f"no word {LONG!r} here", f"no word {CUT!r} here"),
        (
            f"no word {'a b ' * 80!r}",
            f"no word {('a b ' * 80)[:100] + '…' + ('a b ' * 80)[-99:]!r}",
        ),
        (f"it isn't {'so ' * 90}that it's", f"it isn't {'so ' * 90}that it's"),
        (f"one {'of many ' * 50}", f"one {'of many ' * 50}"),
    ],
)
def test_a_name_in_a_message_is_cut_at_200_characters(text: str, said: str) -> None:
    assert str(WordbiasError(text)) == said


def test_long_names_are_cut_wherever_they_come_from(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text(f"{LONG} 1 2\nb 3 4\n{LONG} 5 6\n")
    for arguments, code in (
        (["misp", LONG], 1),
        (["misp", path, "--vocab", LONG], 1),
        ([LONG], 2),
        (["misp", "--format", LONG], 2),
        (["convert", path, f"{tmp_path}/{LONG}/o.txt"], 1),
    ):
        done = cli(*arguments)
        assert done.code == code
        assert LONG not in done.err
        assert "…" in done.err


AS_ON_WINDOWS = """
import io, sys
from wordbias import cli
cli._WINDOWS = True
for name in ("stdout", "stderr"):
    setattr(sys, name, io.TextIOWrapper(getattr(sys, name).buffer, encoding="cp1252"))
sys.argv = ["wordbias", "lists", "--groups", "own.toml", "--format", "json"]
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [None, "cp1252"])
def test_on_windows_what_goes_to_a_file_is_utf_8_unless_another_encoding_is_chosen(
    chosen: str | None, tmp_path: Path
) -> None:
    text = 'name = "own"\n[groups]\n"männer" = ["mann", "er"]\nfrauen = ["frau", "sie"]\n'
    (tmp_path / "own.toml").write_text(text, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    env |= {"PYTHONPATH": str(ROOT)} | ({} if chosen is None else {"PYTHONIOENCODING": chosen})
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "männer" in done.stdout.decode(chosen or "utf-8")
