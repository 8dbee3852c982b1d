"""`wordbias likelihood` from the shell and from Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import small_likelihood  # noqa: E402
import small_winobias  # noqa: E402
from tiny_decoders import build_decoder, byte_tokenizer, save_decoder, word_tokenizer  # noqa: E402
from tiny_encoders import build, make_tokenizer, save  # noqa: E402

import wordbias as wb  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder and each data set."""
    folder = tmp_path_factory.mktemp("likelihood")
    save_decoder(folder / "decoder")
    small_likelihood.crows_pairs(folder / "crows.csv")
    small_likelihood.stereoset(folder / "stereoset.json")
    small_likelihood.winogender(folder / "winogender")
    small_winobias.write(folder / "winobias")
    small_likelihood.bbq(folder / "Gender_identity.jsonl")
    small_likelihood.pairs(folder / "pairs.tsv")
    (folder / "text.txt").write_text("The nurse went home. She slept for a long time.")
    return folder


SETS = ("crows.csv", "stereoset.json", "winogender", "winobias", "Gender_identity.jsonl")


def rows_of(out: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(out)["rows"]
    return rows


@pytest.mark.slow
def test_every_data_set_is_recognised_and_measured(data: Path, cli: Cli, tmp_path: Path) -> None:
    given = [word for name in SETS for word in ("--data", data / name)]
    scores = tmp_path / "scores.csv"
    done = cli("likelihood", data / "decoder", *given, "-o", scores, "--format", "json")
    assert done.code == 0, done.err
    rows = rows_of(done.out)
    assert {row["measure"] for row in rows} == {
        "crows", "likelihood-difference", "ss", "lms", "icat", "coreference-accuracy",
        "coreference-gap", "coreference-correlation", "pro-preferred", "bbq-accuracy", "bbq-bias",
    }  # fmt: skip
    for row in rows:
        assert row["score"] in ("likelihood", "per-token")
        assert row["n"] > 0
        if row["value"] is not None and "low" in row:
            assert row["low"] <= row["value"] <= row["high"], row
        assert "low" in row or row["n"] == 1 or row["value"] is None
    with scores.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    counts = {task: sum(record["task"] == task for record in records) for task in
              dict.fromkeys(record["task"] for record in records)}  # fmt: skip
    assert counts == {
        "CrowS-Pairs": 5, "StereoSet intrasentence": 9, "Winogender": 18, "WinoBias": 24,
        "WinoBias pairs": 12, "BBQ": 8,
    }  # fmt: skip


def test_a_text_of_one_window_has_no_interval(data: Path, cli: Cli) -> None:
    (data / "short.txt").write_text("She is a doctor.")
    done = cli("likelihood", data / "decoder", "--perplexity", data / "short.txt")
    assert "One window of at most 1,024 tokens: no interval." in done.out
    assert "in brackets" not in done.out


def test_a_loaded_model_is_as_its_folder(data: Path) -> None:
    report = wb.likelihood(data / "decoder", data=data / "crows.csv")
    loaded = (build_decoder("llama", 257, max_position_embeddings=1024), byte_tokenizer())
    in_memory = wb.likelihood(loaded, data=[data / "crows.csv"])
    assert [row.value for row in in_memory] == pytest.approx([row.value for row in report])


def test_records_hold_the_log_likelihoods_of_the_rows(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    report = wb.likelihood(data / "decoder", data=data / "crows.csv", output=path)
    with path.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    gaps = [
        float(record["log-likelihood of first"]) - float(record["log-likelihood of second"])
        for record in records
    ]
    row = report["likelihood-difference"][0]
    assert row.value == pytest.approx(sum(map(abs, gaps)) / len(gaps))
    assert report["crows"][0].value == sum(gap > 0 for gap in gaps) / len(gaps)


@pytest.mark.slow
def test_as_published_changes_stereoset(data: Path) -> None:
    usual = wb.likelihood(data / "decoder", data=data / "stereoset.json")
    published = wb.likelihood(data / "decoder", data=data / "stereoset.json", as_published=True)
    assert {row.details["n"] for row in usual if row.details["subset"] == "all"} == {3}
    assert {row.details["score"] for row in usual} == {"likelihood", "per-token"}
    assert {row.details["score"] for row in published} == {"per-token"}


def test_a_context_that_is_cut_is_noted(data: Path, cli: Cli) -> None:
    given = ("--data", data / "winogender", "--max-length", 40)
    done = cli("likelihood", data / "decoder", *given)
    assert done.code == 0, done.err
    assert "had a context longer than 40 tokens, which was cut at its beginning" in done.err


def test_without_shares_winogender_has_no_gotcha(data: Path, cli: Cli, tmp_path: Path) -> None:
    text = (data / "winogender" / "all_sentences.tsv").read_text()
    (tmp_path / "all_sentences.tsv").write_text(text)
    done = cli("likelihood", data / "decoder", "--data", tmp_path, "--format", "json")
    assert "neither gotcha sentences nor a correlation" in done.err
    assert {row["measure"] for row in rows_of(done.out)} == {"coreference-accuracy"}


def test_pairs_of_winobias_that_differ_in_more_are_left_out(
    data: Path, cli: Cli, tmp_path: Path
) -> None:
    small_winobias.write(tmp_path)
    file = tmp_path / "anti_stereotyped_type1.txt.dev"
    file.write_text(file.read_text().replace("thanked the nurse", "greeted the nurse", 1))
    done = cli("likelihood", data / "decoder", "--data", tmp_path, "--format", "json")
    assert "1 pair of WinoBias differ in more than the gender of pronouns" in done.err
    (row,) = [
        row for row in rows_of(done.out)
        if row["measure"] == "pro-preferred" and row["subset"] == "all"
        and row["score"] == "likelihood"
    ]  # fmt: skip
    assert row["n"] == 11


def test_eos_in_place_of_bos_is_noted(data: Path, cli: Cli, tmp_path: Path) -> None:
    text = (data / "pairs.tsv").read_text()
    tokenizer = word_tokenizer(text, bos="", eos_token="</s>")
    save(build_decoder("llama", len(tokenizer)), tokenizer, tmp_path)
    done = cli("likelihood", tmp_path, "--pairs", data / "pairs.tsv")
    assert "has no BOS token: texts follow its EOS token, </s>" in done.err
    (tmp_path / "tokenizer_config.json").write_text("{}")
    tokenizer = word_tokenizer(text, bos="")
    save(build_decoder("llama", len(tokenizer)), tokenizer, tmp_path)
    refused = cli("likelihood", tmp_path, "--pairs", data / "pairs.tsv")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "neither a BOS nor an EOS token" in refused.err
    assert cli("likelihood", tmp_path, "--pairs", data / "pairs.tsv", "--no-bos").code == 0


def test_bad_input_is_one_line(data: Path, cli: Cli, tmp_path: Path) -> None:
    decoder = data / "decoder"
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    between = {"id": "1", "target": "t", "bias_type": "b", "context": "c", "sentences": []}
    only = {"data": {"intersentence": [between], "intrasentence": []}}
    (tmp_path / "between.json").write_text(json.dumps(only))
    save(build("bert", "MaskedLM", vocabulary=6), make_tokenizer(["the"]), tmp_path / "bert")
    broken = build_decoder("llama", 257, max_position_embeddings=1024)
    with torch.no_grad():
        broken.lm_head.weight[3] = float("nan")
    save(broken, byte_tokenizer(), tmp_path / "broken")
    crows = ("--data", data / "crows.csv")
    for words, message in (
        ((decoder, "--data", tmp_path / "empty"), "found a folder with none of their files"),
        ((decoder, "--data", tmp_path / "text.csv"), "expected CrowS-Pairs (CSV with sent_more),"),
        (
            (decoder, "--data", tmp_path / "between.json"),
            "holds pairs of sentences, which a next-sentence head scores",
        ),
        ((decoder, "--data", tmp_path / "nothing.csv"), "cannot be read: No such file"),
        ((tmp_path / "broken", *crows), "predicts what is no number; its weights are damaged"),
        ((decoder, *crows, "--max-length", 9), "reads at most 9 tokens; a text to score has"),
        ((decoder, *crows, "-o", data / "crows.csv"), "is both --data and -o; name two files"),
        ((tmp_path / "empty", *crows), "without a config.json"),
    ):
        done = cli("likelihood", *words)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert message in done.err
    nothing = cli("likelihood", decoder)
    assert nothing.code == 2
    assert "nothing to measure: give --data, --pairs or --perplexity" in nothing.err
    for words, message in (
        ((decoder, *crows, "--top", 0.5), "--top is for a model that is an encoder, and"),
        ((tmp_path / "bert", *crows, "--max-length", 9), "--max-length is for a model that is a d"),
    ):
        done = cli("likelihood", *words)
        assert done.code == 2
        assert message in done.err
