"""`wordbias fetch`, and the names of fetched data in place of paths."""

from __future__ import annotations

import hashlib
import io
import json
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from resource_server import Answer, Server

from wordbias import Attribute, Embedding
from wordbias.reports import FORMATS
from wordbias.resources import catalogue
from wordbias.vocabulary import neutral_vocabulary

Run = Callable[..., Any]
VECTORS = b"he 1 0\nshe 0 1\nking 1 0.5\nqueen 0.5 1\n"


def _serve(server: Server, name: str, *answers: Answer | bytes) -> None:
    """Serve the only file of a resource where a mirror would have it."""
    (url,) = catalogue()[name].urls
    server.put("/" + url.split("/", 3)[3], *answers)


def _archive(member: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, data)
    return out.getvalue()


@pytest.fixture
def fetched(cli: Run, server: Server) -> Callable[..., None]:
    """Fetch from the local server."""

    def call(*names: str) -> None:
        done = cli("fetch", "--mirror", server.url, *names)
        assert done.code == 0
        assert all(" at 10 MB/s" in line for line in done.err.splitlines())  # of a large one

    return call


def _refused(cli: Run, *arguments: object) -> str:
    done = cli(*arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("wordbias: ")
    assert done.err.count("\n") == 1
    return str(done.err)


def test_without_names_it_lists_what_there_is(cli: Run, server: Server, fetched: Run) -> None:
    before = cli("fetch").out.splitlines()
    assert max(map(len, before)) <= 100
    names = [line.split()[0] for line in before if line.startswith("  ")]
    assert set(catalogue()) <= set(names)
    _serve(server, "rg-65", b"gem\tjewel\t3.94\n")
    fetched("rg-65")
    changed = set(cli("fetch").out.splitlines()) - set(before)
    assert [line.split()[0] for line in changed] == ["rg-65"]
    assert all(line.endswith("yes") for line in changed)


@pytest.mark.parametrize("to", FORMATS)
def test_the_list_in_every_format(cli: Run, to: str) -> None:
    done = cli("fetch", "--format", to)
    assert (done.code, done.err) == (0, "")
    assert "snli-train" in done.out


def test_json_has_what_the_table_leaves_out(cli: Run) -> None:
    report = json.loads(cli("fetch", "--format", "json").out)
    assert [row["subject"] for row in report["rows"]] == [*report["inputs"]] == list(catalogue())
    for row in report["rows"]:
        resource, about = catalogue()[row["subject"]], report["inputs"][row["subject"]]
        assert about["url"] == list(resource.urls)
        assert about["citation"] == resource.citation
        assert about["licence"] == resource.licence
        assert row["value"] == resource.size
        assert resource.size or row["reason"]
        assert about["hash"] == (resource.hash or "unknown: recorded at the first download")
        assert about["path"] is None


def test_about_says_everything(cli: Run) -> None:
    done = cli("fetch", "--about", "sembias", "gn-glove")
    text = " ".join(done.out.split())
    assert f"url: {catalogue()['sembias'].urls[0]}" in text
    assert f"hash: {catalogue()['sembias'].hash}" in text
    assert "citation: Zhao et al. (2018)" in text
    assert catalogue()["gn-glove"].how in text


def test_fetching_from_a_mirror_and_asking_where(cli: Run, server: Server, data: Path) -> None:
    _serve(server, "rg-65", b"gem\tjewel\t3.94\n")
    done = cli("fetch", "rg-65", "--mirror", server.url, "--format", "json")
    about = json.loads(done.out)["inputs"]["rg-65"]
    path = data / "rg-65" / "EN-RG-65.txt"
    assert about["path"] == str(path)
    assert about["sha256"] == [hashlib.sha256(path.read_bytes()).hexdigest()]
    assert about["origin"].startswith(server.url)
    assert cli("fetch", "--paths", "rg-65").out == f"{path}\n"
    table = cli("fetch", "rg-65")
    assert "already there" in table.out
    assert max(map(len, table.out.splitlines())) <= 100


def test_the_mirror_may_come_from_the_environment(
    cli: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _serve(server, "rg-65", b"gem\tjewel\t3.94\n")
    monkeypatch.setenv("WORDBIAS_MIRROR", server.url)
    assert cli("fetch", "rg-65").code == 0
    assert len(server.requests) == 1


def test_real_files_are_taken_over(cli: Run, shared_data: Path, data: Path) -> None:
    for name, folder in {
        "sembias": "sembias",
        "men": "wordsim",
        "google-analogies": "analogy",
    }.items():
        done = cli("fetch", name, "--from", shared_data / folder)
        assert (done.code, done.err) == (0, "")
    done = cli("quality", "--benchmarks", "men", "--format", "json")
    (row,) = json.loads(done.out)["rows"]
    assert (row["set"], row["asked"]) == ("men", 3000)
    table = cli("measure", "--only", "sembias", "--sembias", "sembias").out
    assert "SemBias, definition (all)" in table
    assert "undefined" not in table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["SNLI"], "did you mean"),
        (["--paths"], "--paths: give a name"),
        (["--about"], "--about: give a name"),
        (["--about", "--paths", "men"], "choose one of --about and --paths"),
        (["--paths", "men"], "run: wordbias fetch men"),
        (["--paths", "gn-glove"], "Google Drive"),
        (["bias-in-bios"], "https://github.com/microsoft/biosbias"),
        (["--from", "."], "--from=.: give the names to take from there"),
        (["men", "--from", "/no/folder"], "there is no such folder"),
        (["men", "--mirror", "ftp://host"], "is no mirror"),
    ],
)
def test_bad_usage(cli: Run, arguments: list[str], said: str) -> None:
    assert said in _refused(cli, "fetch", *arguments)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b"a:b\tc:d\te:f\tg:h\n"), "is not the file that was published"),
        (Answer(b"<!DOCTYPE html><p>Sign in"), "sends a web page instead of the data"),
        (Answer(b"", 404), " answers 404 "),
        (Answer(b"a:b", stop=1), "broke off 3 times"),
    ],
)
def test_what_goes_wrong_is_one_line(
    cli: Run, server: Server, data: Path, answer: Answer, said: str
) -> None:
    _serve(server, "sembias", answer)
    assert said in _refused(cli, "fetch", "sembias", "--mirror", server.url)
    assert not (data / "sembias").exists()
    left = {path.name for path in (data / ".downloads").rglob("*")}
    part = {"sembias", "SemBias.part", "SemBias.part.json"}
    assert left == (part if "broke" in said else set())
    assert "not fetched yet" in _refused(cli, "measure", "--sembias", "sembias")


def test_vectors_are_known_by_name(
    cli: Run, server: Server, fetched: Run, tmp_path: Path, data: Path
) -> None:
    name = "glove.2024.wikigiga.50d"
    message = _refused(cli, "convert", name, tmp_path / "out.vec")
    assert f"run: wordbias fetch {name}" in message
    _serve(server, name, _archive("wiki_giga_2024_50_any_combined.txt", VECTORS))
    done = cli("fetch", "--mirror", server.url, name)
    assert done.err == ("note: glove.2024.wikigiga-50: takes 301.0 MB, about 1 minute at 10 MB/s\n")
    fetched(name)
    assert (data / name / f"{name}.txt").read_bytes() == VECTORS
    assert cli("convert", name, tmp_path / "out.vec").code == 0
    assert (tmp_path / "out.vec").read_bytes().startswith(b"4 2\nhe 1")
    _serve(server, "rg-65", b"king\tqueen\t3.5\nhe\tshe\t3.0\nking\the\t1.0\n")
    fetched("rg-65")
    report = json.loads(cli("quality", name, "--benchmarks", "rg-65", "--format", "json").out)
    assert list(report["inputs"]) == [name]
    assert report["rows"][0]["n"] == 3


def test_test_sets_and_lists_are_known_by_name(cli: Run, server: Server, fetched: Run) -> None:
    _serve(server, "rg-65", b"king\tqueen\t3.5\nboy\tgirl\t3.0\nman\tdog\t1.0\n")
    for url in catalogue()["mab-lists"].urls:
        server.put("/" + url.split("/", 3)[3], b"first\nsecond\n")
    fetched("rg-65", "mab-lists")
    (row,) = json.loads(cli("quality", "--benchmarks", "rg-65", "--format", "json").out)["rows"]
    assert (row["set"], row["n"]) == ("rg-65", 3)
    rows = json.loads(cli("lists", "--lists", "mab-lists", "--format", "json").out)["rows"]
    assert {row["value"] for row in rows if row["measure"] == "occupations"} == {2}


def _serve_lists(server: Server, shared_data: Path) -> None:
    for name, folder in (("bolukbasi-lists", "bolukbasi"), ("gn-glove-lists", "gn_glove")):
        for url, file in zip(catalogue()[name].urls, catalogue()[name].files, strict=True):
            server.put("/" + url.split("/", 3)[3], (shared_data / folder / file).read_bytes())


@pytest.mark.slow
def test_the_published_vocabulary_leaves_out_the_papers_1622_words(
    cli: Run, server: Server, fetched: Run, shared_data: Path, tmp_path: Path
) -> None:
    """Dawkins (2021), appendix B; of two folders that are fetched file by file."""
    _serve_lists(server, shared_data)
    fetched("bolukbasi-lists", "gn-glove-lists")
    folder = shared_data / "gn_glove"
    specific = {
        *json.loads((shared_data / "bolukbasi" / "gender_specific_full.json").read_text("utf-8")),
        *(word for path in folder.iterdir() for word in path.read_text("utf-8").split()),
    }
    assert len(specific) == 1622
    words = Embedding.sample().words[:50_000]
    neutral_words = neutral_vocabulary(words, {word.lower() for word in specific})
    assert 0 < len(neutral_words) != len(neutral_vocabulary(words, Attribute.load().specific))
    phrase = f"{len(neutral_words):,} neutral words, all but 1,622 published gendered ones"
    quick = ("--vocab", "published", "--no-chance", "-q")
    for call in (("measure", "--only", "direct-bias"), ("misp",)):
        table = cli(*call, *quick)
        assert phrase in " ".join(table.out.split()), table.err
        rows = json.loads(cli(*call, *quick, "--format", "json").out)["rows"]
        assert {row["n"] for row in rows if row["measure"] == "direct-bias"} == {len(neutral_words)}
        assert not any("known_values" in row for row in rows)
    before = ("debias", "misp", "--measure", "--only", "direct-bias", *quick, "--format", "json")
    rows = json.loads(cli(*before).out)["rows"]
    assert {row["n"] for row in rows if row["measure"] == "direct-bias"} == {len(neutral_words)}
    skipped = (
        "midb,clustering,recoverability,sembias,gipe,weat,occupations,map,neighbours,mab,quality"
    )
    page = ("audit", "--methods", "misp", "-o", tmp_path / "page.json", "--skip", skipped)
    done = cli(*page, *quick, "--jobs", 1)
    assert done.code == 0, done.err
    rows = json.loads((tmp_path / "page.json").read_text("utf-8"))["rows"]
    assert {row["n"] for row in rows if row["measure"] == "direct-bias"} == {len(neutral_words)}

    refused = cli("measure", "--vocab", "published", "--groups", "age")
    assert (refused.code, "the attribute is age" in refused.err) == (2, True)


def test_a_published_list_that_is_none_is_named(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name here is taken in place of what was fetched."""
    monkeypatch.chdir(tmp_path)
    broken = Path("bolukbasi-lists") / "gender_specific_full.json"
    broken.parent.mkdir()
    for content, complaint in (("[1]", "expected a list of words"), ("[", "not valid JSON")):
        broken.write_text(content)
        message = _refused(cli, "measure", "--vocab", "published")
        assert f"{broken}: {complaint}" in message
        assert "wordbias fetch bolukbasi-lists --again" in message


@pytest.mark.parametrize("call", ["measure", "misp", "debias misp --measure", "audit"])
def test_the_published_vocabulary_has_to_be_fetched(cli: Run, call: str, tmp_path: Path) -> None:
    options = ("-o", tmp_path / "page.html") if call == "audit" else ()
    message = _refused(cli, *call.split(), *options, "--vocab", "published")
    assert "run: wordbias fetch bolukbasi-lists" in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["misp", "glove.6B.100d"], "glove.6B.100d"),
        (["measure", "--original", "glove.6B.50d"], "glove.6B.50d"),
        (["winobias", "winobias"], "winobias"),
        (["mab-eval", "--lists", "mab-lists"], "mab-lists"),
        (["mab-eval", "--set", "parity", "--snli", "snli-test"], "snli-test"),
        (["quality", "--benchmarks", "men"], "men"),
        (["encode", "nowhere", "bios-train", "-o", "x.safetensors"], "bios-train"),
        (["bios", "--model", "nowhere", "--data", "bios-train", "-o", "x"], "bios-train"),
        (
            ["fine-tune", "x", "--head", "nli", "--train", "snli-train", "--dev", "d", "-o", "y"],
            "snli-train",
        ),
        (["ceat", "nowhere", "--sentences", "snli-train"], "snli-train"),
    ],
)
def test_other_commands_say_how_to_fetch(
    cli: Run, command: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"run: wordbias fetch {name}" in _refused(cli, *command)


@contextmanager
def _running(server: Server, name: str) -> Iterator[subprocess.Popen[str]]:
    """Fetch in a process of its own, which is dead when the block ends."""
    command = [sys.executable, "-m", "wordbias", "fetch", name, "--mirror", server.url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_for_part(data: Path) -> Path:
    for _ in range(600):
        for part in data.glob(".downloads/*/*.part"):
            if part.stat().st_size:
                return part
        time.sleep(0.05)
    raise AssertionError("no part arrived")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_fetch_is_resumed(
    cli: Run, server: Server, data: Path, how: signal.Signals
) -> None:
    body = _archive("wiki_giga_2024_50_x.txt", VECTORS * 20_000)
    name = "glove.2024.wikigiga.50d"
    hanging = Answer(body, etag='"1"', hang=len(body) // 2)
    _serve(server, name, hanging, Answer(body, etag='"1"'))
    with _running(server, name) as process:
        part = _wait_for_part(data)
        process.send_signal(how)
        _, message = process.communicate()
    size = part.stat().st_size
    assert 0 < size < len(body)
    assert not (data / name).exists()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"{size:,} bytes are kept; the same call resumes from there" in message
    assert cli("fetch", name, "--mirror", server.url).code == 0
    assert server.ranges() == [None, f"bytes={size}-"]
    assert (data / name / f"{name}.txt").read_bytes() == VECTORS * 20_000
    assert list((data / ".downloads").iterdir()) == []


@pytest.mark.slow
def test_killed_at_any_moment_it_is_whole_or_not_there(
    cli: Run, server: Server, data: Path
) -> None:
    name = "glove.2024.wikigiga.50d"
    text = VECTORS * 20_000
    body = _archive("wiki_giga_2024_50_x.txt", text)
    _serve(server, name, Answer(body, etag='"1"', pause=0.05))
    moments = random.Random(0)
    for _ in range(6):  # a process takes half a second to start, and another half to download
        with _running(server, name) as process:
            time.sleep(moments.uniform(0.4, 1.2))
            process.kill()
        if cli("fetch", "--paths", name).code == 0:
            break
        assert not (data / name).exists()
    assert cli("fetch", name, "--mirror", server.url).code == 0
    assert (data / name / f"{name}.txt").read_bytes() == text
    assert {path.name for path in data.iterdir()} == {name, ".downloads"}


@pytest.mark.slow
def test_the_lock_of_a_killed_fetch_is_gone_with_the_next(
    cli: Run, server: Server, data: Path, fetched: Run
) -> None:
    """Whatever is fetched next; that of a process which is at work is left."""
    _serve(server, "rg-65", Answer(bytes(200_000), hang=100_000))
    with _running(server, "rg-65") as process:
        _wait_for_part(data)
        _serve(server, "mturk-287", b"king\tqueen\t3.5\n")
        fetched("mturk-287")
        assert (data / ".downloads" / "rg-65.lock").exists()
        process.kill()
        process.wait()
    (data / ".downloads" / "nothing").mkdir()
    (data / ".downloads" / "nothing.lock").touch()
    _serve(server, "simlex-999", b"word1\tword2\nking\tqueen\n")
    fetched("simlex-999")
    assert {path.name for path in (data / ".downloads").iterdir()} == {"rg-65"}


@pytest.mark.slow
def test_what_a_killed_fetch_left_is_cleared_by_the_next(
    cli: Run, server: Server, data: Path, fetched: Run
) -> None:
    """Of the same resource and of others; not what has arrived, nor what was there before."""
    _serve(server, "rg-65", Answer(bytes(200_000), etag='"1"', hang=100_000))
    with _running(server, "rg-65") as process:
        _wait_for_part(data)
        process.kill()
        process.wait()
    left = data / ".downloads" / "rg-65"
    assert len(list(left.glob("tmp*"))) == 1
    (data / ".rg-65.new").mkdir()
    (data / ".rg-65.old").mkdir()
    (data / ".rg-65.old" / "EN-RG-65.txt").write_text("what was there before")
    _serve(server, "mturk-287", b"king\tqueen\t3.5\n")
    fetched("mturk-287")
    assert {path.name.partition(".")[2] for path in left.iterdir()} == {"txt.part", "txt.part.json"}
    assert {path.name for path in data.iterdir()} == {".downloads", "mturk-287", "rg-65"}
    assert (data / "rg-65" / "EN-RG-65.txt").read_text() == "what was there before"


@pytest.mark.parametrize("answer", [Answer(b""), Answer(b"", length=False)])
def test_an_empty_answer_is_called_one(
    cli: Run, server: Server, data: Path, answer: Answer
) -> None:
    _serve(server, "rg-65", answer)
    message = _refused(cli, "fetch", "rg-65", "--mirror", server.url)
    assert "rg-65: 127.0.0.1" in message
    assert "gives an empty answer to http://127.0.0.1" in message
    assert list((data / ".downloads").iterdir()) == []
    assert len(server.requests) == 1


def test_an_empty_file_is_not_taken_over(cli: Run, tmp_path: Path, data: Path) -> None:
    (tmp_path / "EN-RG-65.txt").touch()
    message = _refused(cli, "fetch", "rg-65", "--from", tmp_path)
    assert "EN-RG-65.txt is empty; download it again" in message


def _column(cli: Run, name: str, column: str) -> str:
    lines = cli("fetch").out.splitlines()
    heads = next(line for line in lines if line.split()[:1] == ["name"])
    line = next(line for line in lines if line.split()[:1] == [name])
    place = heads.index(column)
    return str(line[place:].split("  ")[0].strip())


def test_the_list_says_whose_hash_is_known(cli: Run, server: Server, fetched: Run) -> None:
    assert _column(cli, "sembias", "hash") == "known"
    assert _column(cli, "rg-65", "hash") == "none"
    _serve(server, "rg-65", b"gem\tjewel\t3.94\n", b"gem\tjewel\t3.95\n")
    fetched("rg-65")
    assert _column(cli, "rg-65", "hash") == "own"
    message = _refused(cli, "fetch", "rg-65", "--again", "--mirror", server.url)
    assert "is not the file that was recorded on" in message


def test_a_mirror_that_is_not_valid_is_refused_even_where_nothing_is_missing(
    cli: Run, server: Server, fetched: Run
) -> None:
    _serve(server, "rg-65", b"king\tqueen\t3.5\n")
    fetched("rg-65")
    assert "nonsense: is no mirror" in _refused(cli, "fetch", "rg-65", "--mirror", "nonsense")


def test_a_second_process_is_refused(cli: Run, server: Server, data: Path) -> None:
    _serve(server, "rg-65", Answer(bytes(200_000), hang=100_000))
    with _running(server, "rg-65"):
        _wait_for_part(data)
        message = _refused(cli, "fetch", "rg-65", "--mirror", server.url)
    assert "rg-65: another process is fetching it; wait for that one" in message
    assert len(server.requests) == 1


def test_a_name_is_looked_up_without_a_downloader() -> None:
    code = (
        "import sys; from wordbias.resources import catalogue, located; catalogue(); located('x');"
        "print([m for m in ('pooch', 'requests', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
