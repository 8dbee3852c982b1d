"""`wordbias coref-train` and `coref-predict`, from files to a folder and to files."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from forks import Forked
from small_coreference import conll, encoder_folder, learning_folder, story, with_large_head

import wordbias as wb
from wordbias.coreference.documents import Document, without_singletons
from wordbias.coreference.reading import read_documents

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

Cli = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("coref")
    encoder_folder(path / "encoder")
    (path / "train.conll").write_text(conll([story(i) for i in range(4)]))
    (path / "dev.conll").write_text(conll([story(i) for i in range(10, 13)]))
    return path


def given(folder: Path, output: Path, *more: Any, **files: Any) -> list[Any]:
    train, dev = (files.get(name, folder / f"{name}.conll") for name in ("train", "dev"))
    return [
        "coref-train", train, "--dev", dev, "--model", folder / "encoder", "-o", output,
        "--epochs", 2, "--segment-length", 32, "--hidden", 20, "--lr", 1e-6, "--task-lr", 1e-6,
        *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_from_files_to_clusters(cli: Cli, folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "o"
    more = ("--test", folder / "dev.conll", "--draws", 50)
    done = cli(*given(folder, output, *more, "--format", "json"))
    assert done.code == 0, done.err
    report = json.loads(done.out)
    dev, test = (row for row in report["rows"] if row["measure"] == "conll-f1")
    assert [dev["set"], test["set"]] == ["dev", "test"]
    scores = [row["value"] for row in report["rows"] if row["measure"] == "coref-f1"]
    assert dev["value"] == pytest.approx(sum(scores[:3]) / 3)
    assert (dev["round"], dev["rounds"]) in [(1, 2), (2, 2)]
    about = {"subject": "o", "measure": "conll-f1", "unit": "documents", "n": 3}
    assert about.items() <= dev.items()
    assert dev["low"] <= dev["value"] == test["value"] <= dev["high"]
    about = json.loads((output / "training.json").read_text())
    assert dev["value"] == pytest.approx(100 * about["dev_f1"])
    assert about["settings"]["segment_length"] == 32
    assert about["recipe"]["task_rate"] == 1e-6
    for name in ("found.conll", "found.jsonl", "found.jsonl.gz"):
        done = cli("coref-predict", output, folder / "dev.conll", "-o", tmp_path / name)
        assert done.code == 0, done.err
    written = read_documents(tmp_path / "found.conll")
    assert [document.clusters for document in read_documents(tmp_path / "found.jsonl")] == [
        document.clusters for document in written
    ]
    assert read_documents(tmp_path / "found.jsonl.gz") == read_documents(tmp_path / "found.jsonl")
    predicted = wb.coref_predict(output, folder / "dev.conll").documents
    assert [document.clusters for document in predicted] == [
        document.clusters for document in written
    ]
    assert any(document.clusters for document in predicted)
    resolve = wb.load(output)
    assert [resolve(document.sentences) for document in predicted] == [
        document.clusters for document in predicted
    ]
    bad = tmp_path / "bad.conll"
    bad.write_text((folder / "dev.conll").read_text().replace("\t(0)", "\t0)", 1))
    done = cli("coref-predict", output, bad, "--skip-bad")
    assert done.code == 0, done.err
    assert f"note: {bad}: 1 mention left out, the first: line " in done.err


@pytest.mark.slow
def test_a_killed_training_ends_with_the_same_bytes(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """Killed in an epoch after the first, and interrupted in a later one."""
    more = ("--epochs", 6, "--lr", 1e-3, "--threads", 1)
    straight, resumed = tmp_path / "straight", tmp_path / "again"
    assert cli(*given(folder, straight, *more)).code == 0
    log = tmp_path / "again.log.jsonl"
    for lines, sign, code in ((1, signal.SIGKILL, -9), (2, signal.SIGINT, 130)):
        started = Forked(*given(folder, resumed, *more))
        while started.process.is_alive() and (
            not log.exists() or log.read_bytes().count(b"\n") < lines
        ):
            time.sleep(0.005)
        os.kill(started.process.pid, sign)
        exit_code, out, err = started.ended()
        assert (exit_code, out) == (code, "")
        assert sign == signal.SIGKILL or "the same call resumes after the last epoch" in err
        assert not resumed.exists()
    assert (tmp_path / "again.checkpoint").exists()
    assert cli(*given(folder, resumed, *more)).code == 0
    for file in straight.iterdir():
        assert (resumed / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.slow
def test_documents_as_gum_writes_them(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """CoNLL-U of the same documents is the same training, and predictions are scored against it."""
    for name, numbers in (("train", range(4)), ("dev", range(10, 13))):
        (tmp_path / f"{name}.conllu").write_text(conllu([story(i) for i in numbers]))
    train, dev = tmp_path / "train.conllu", tmp_path / "dev.conllu"
    more = ("--format", "json", "--draws", 0)
    done = cli(*given(folder, tmp_path / "o", *more, train=train, dev=dev))
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    from_conll = cli(
        *given(folder, tmp_path / "o", *more)
    )  # CoNLL-2012; another training is refused
    assert json.loads(from_conll.out)["rows"] == rows
    predicted = tmp_path / "found.jsonl"
    assert cli("coref-predict", tmp_path / "o", dev, "-o", predicted).code == 0
    scored = cli("coref-score", dev, "--clusters", predicted, "--draws", 0, "--format", "json")
    assert [row["value"] for row in json.loads(scored.out)["rows"]] == [
        row["value"] for row in rows
    ]
    assert rows[0]["value"] > 0


def conllu(documents: list[Document]) -> str:
    """Return documents in the form of GUM: entities with fields, joined words and an empty one."""
    lines = ["# global.Entity = GRP-etype-infstat-centering-minspan-link-identity"]
    for document in documents:
        lines.append(f"# newdoc id = {document.name}")
        spans = {span: i for i, cluster in enumerate(document.clusters, 1) for span in cluster}
        opens = {start: f"({i}-person-giv:act-cf1-1-coref" for (start, _), i in spans.items()}
        closes = {end - 1: i for (_, end), i in spans.items()}
        alone = {start for start, end in spans if end == start + 1}
        count = 0
        for sentence in document.sentences:
            lines += ["# speaker = _", f"1-2\t{''.join(sentence[:2])}" + "\t_" * 8]
            for number, word in enumerate(sentence, 1):
                mark = opens.get(count, "") + (")" if count in alone else "")
                if count in closes and count not in alone:
                    mark += f"{closes[count]})"
                entity = f"Entity={mark}|" * bool(mark) + "SpaceAfter=No"
                lines.append(f"{number}\t{word}" + "\t_" * 7 + f"\t{entity}")
                count += 1
            lines += [f"{len(sentence)}.1\t_" + "\t_" * 8, ""]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_long_documents_of_litbank(shared_data: Path, tmp_path: Path) -> None:
    """With singletons and nested mentions; a step reads a window of each."""
    documents = read_documents(shared_data / "coref" / "litbank.conll.gz")[:3]
    assert all(len(document.tokens) > 2000 for document in documents)
    mentions = [sorted(document.mentions) for document in documents]
    assert all(any(a <= c and d <= b for (a, b), (c, d) in pairwise(spans)) for spans in mentions)
    words = [token for document in documents for token in document.tokens]
    trained = wb.coref_train(
        documents[:2],
        dev=documents[2:],
        model=learning_folder(tmp_path / "encoder", words),
        output=tmp_path / "o",
        epochs=2,
        lr=1e-3,
        task_lr=1e-3,
        segment_length=64,
        hidden=50,
        draws=0,
    )
    singletons = sum(
        len(cluster) == 1 for document in documents[:2] for cluster in document.clusters
    )
    assert singletons > 100
    assert trained.report.inputs["train"]["singletons"] == singletons
    assert f"({singletons} singletons, not scored)" in trained.report.heading[0]
    predicted = wb.coref_predict(tmp_path / "o", documents[2:], output=tmp_path / "found.conll")
    assert all(len(cluster) > 1 for cluster in predicted.documents[0].clusters)
    plain = [
        replace(document, clusters=without_singletons(document.clusters))
        for document in documents[2:]
    ]
    scored = wb.coref_score(plain, clusters=tmp_path / "found.conll", draws=0)
    values = [row.value for row in scored.rows]
    assert values == [row.value for row in trained.report.rows]
    assert values[0]


@pytest.mark.slow
def test_sentences_of_winobias(cli: Cli, folder: Path, tmp_path: Path) -> None:
    assert cli(*given(folder, tmp_path / "o")).code == 0
    sentence = {"sentence": "Ann saw it.", "tokens": ["Ann", "saw", "it", "."]}
    (tmp_path / "s.jsonl").write_text(json.dumps(sentence) + "\n")
    done = cli("coref-predict", tmp_path / "o", tmp_path / "s.jsonl", "-o", tmp_path / "f.jsonl")
    assert done.code == 0, done.err
    (document,) = read_documents(tmp_path / "f.jsonl")
    assert (document.name, document.tokens) == ("Ann saw it.", ("Ann", "saw", "it", "."))


def test_refused_in_one_line(refused: Refused, folder: Path, tmp_path: Path) -> None:
    def said(*more: Any, **files: Any) -> str:
        line = refused(*given(folder, tmp_path / "o", *more, **files))
        assert not (tmp_path / "o").exists()
        return line

    (tmp_path / "none.conll").write_text(conll([Document("d", (("Ann",),))]))
    none, text = tmp_path / "none.conll", tmp_path / "text.txt"
    text.write_text("Ann saw the dog.\n")
    for name in ("train", "dev"):
        line = said(**{name: none})
        assert f"{none}: no cluster of two mentions or more in 1 document; give documents" in line
        assert "is no file of documents" in said(**{name: text})
    line = said("--segment-length", 65)
    assert f"--segment-length: {folder / 'encoder'} reads at most 64 word pieces, got 65" in line
    assert "no such folder" in said("--model", tmp_path / "nowhere")
    assert "'float16': expected float32 or bfloat16" in said("--precision", "float16")
    assert "lower the learning rate" in said("--lr", "1e30", "--task-lr", "1e30")
    (tmp_path / "o.checkpoint").unlink(missing_ok=True)
    line = refused("coref-predict", folder / "encoder", folder / "dev.conll")
    assert f"{folder / 'encoder'}: holds no coreference model" in line
    line = refused("coref-predict", folder / "encoder", folder / "dev.conll", "-o", "found.txt")
    assert "found.txt: expected a name that ends in .conll or .jsonl" in line
    dev = folder / "dev.conll"
    line = refused("coref-predict", folder / "encoder", folder / "train.conll", dev, "-o", dev)
    assert f"{dev}: is both DOCUMENTS and -o; name two files" in line
    (tmp_path / "other").mkdir()
    assert "other: exists already; name a new folder" in refused(*given(folder, tmp_path / "other"))


def test_an_adapter_changes_what_the_head_reads(tmp_path: Path) -> None:
    from wordbias.contextual.fine_tuning import store
    from wordbias.coreference.model import Settings, clusters_of
    from wordbias.coreference.resolver import Coreference

    size = Settings(segment_length=32, hidden=20)
    model = with_large_head(Coreference.new(encoder_folder(tmp_path / "e"), size))
    store(model.encoder, tmp_path / "coref", {}, model.write)
    last = f"tokens@{model.encoder.layers}"
    adapter = wb.project(tmp_path / "coref", sites=[last], setting=last)
    (removal,) = adapter.interventions(last)
    stories = [story(i) for i in range(3)]
    expected = []
    for document in stories:
        segmented = model.segmenter.cut(document)
        with torch.inference_mode():
            (x,) = model.ranker.encode([segmented])
            removed = torch.from_numpy(removal.step(x.numpy()).astype("float32"))
            expected.append(clusters_of(model.ranker.rank(removed, segmented)))
    predicted = wb.coref_predict(tmp_path / "coref", stories, adapter=adapter)
    assert [resolved.clusters for resolved in predicted.documents] == expected
    plain = wb.coref_predict(tmp_path / "coref", stories)
    assert [resolved.clusters for resolved in plain.documents] != expected
    assert f"with {last} removed" in predicted.report.heading[0]
