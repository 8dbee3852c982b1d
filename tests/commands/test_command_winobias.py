"""`wordbias winobias`: from sentences to clusters to scores, and to a probe of an encoder."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_winobias
import tiny_encoders

from wordbias.stereotypes.winobias import load_winobias

Run = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_winobias.write(tmp_path / "winobias")


@pytest.fixture
def found(tmp_path: Path, folder: Path) -> Path:
    """Clusters of a system that goes by the stereotype, and finds nobody in one sentence."""
    path = tmp_path / "found.jsonl"
    lines = []
    for sentence in load_winobias(folder):
        other = next(span for name, span in sentence.people if name != sentence.profession)
        person = sentence.mention if sentence.stereotype == "pro" else other
        clusters = (
            [[person, *sentence.pronouns]] if sentence.number < 3 or sentence.kind == 2 else []
        )
        lines.append(json.dumps({"sentence": sentence.text, "clusters": clusters}))
    path.write_text("\n".join(lines))
    return path


def test_it_scores_clusters(cli: Run, folder: Path, found: Path) -> None:
    done = cli("winobias", folder, "--clusters", found)
    assert (done.code, done.err) == (0, "")
    for part in ("CoNLL F1, percent", "pro − anti", "type 2", "TPR gap", "sufficiency", "Accuracy"):
        assert part in done.out
    assert all(len(line) <= 100 for line in done.out.splitlines())
    text = " ".join(done.out.split())
    assert (
        "In 16.7% of sentences there is none, or several: counted as an outcome of its own." in text
    )
    assert "P undefined: the share is the same in every class" in text


def test_rows_for_machines(cli: Run, folder: Path, found: Path) -> None:
    done = cli("winobias", folder, "--clusters", found, "--format", "json", "--draws", 20)
    result = json.loads(done.out)
    rows = {(r["measure"], r["set"], r.get("setting")): r for r in result["rows"]}
    difference = rows["conll-f1-diff", "pro − anti", "type 2"]
    pro, anti = (rows["conll-f1", side, "type 2"]["value"] for side in ("pro", "anti"))
    assert pro == pytest.approx(100)
    assert difference["value"] == pytest.approx(pro - anti)
    assert difference["low"] <= difference["value"] <= difference["high"]
    assert rows["undecided", "all", None]["value"] == pytest.approx(4 / 24)
    assert rows["tpr-gap", "nurse", None]["value"] == 1
    assert rows["tpr-gap", "sheriff", None]["value"] == -1
    assert result["inputs"]["clusters"]["sha256"]


def test_shares_beside_the_sentences_are_found(
    cli: Run, refused: Refused, folder: Path, found: Path
) -> None:
    shares = {"farmer": 22, "nurses": 90, "construction_worker": 4, "teacher": 78, "sheriff": 14}
    path = folder / "occupational_female_precentage.json"
    path.write_text(json.dumps(shares))
    arguments = ("winobias", folder, "--clusters", found, "--draws", 5, "--format", "json")
    results = [json.loads(cli(*arguments).out)]
    other = folder.parent / "other.json"
    other.write_text(json.dumps(shares))
    path.unlink()
    results.append(json.loads(cli(*arguments, "--shares", other).out))
    values = [
        [r["value"] for r in report["rows"] if (r["measure"], r["set"]) == ("tpr-gap", "pearson")]
        for report in results
    ]
    assert values[0] == values[1]
    assert values[0][0] > 0
    other.write_text('{"farmer": 22}')
    assert "has no share of" in refused(
        "winobias", folder, "--clusters", found, "--shares", other, "--draws", 5
    )


@pytest.mark.slow
def test_scores_are_drawn_and_sentences_are_not(
    cli: Run, folder: Path, found: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.svg"
    done = cli("winobias", folder, "--plot", figure)
    assert (done.code, done.out) == (2, "")
    assert "--plot: without a system there are no scores; give --clusters too" in done.err
    with np.errstate(all="warn"):
        done = cli("winobias", folder, "--clusters", found, "--draws", 5, "--plot", figure)
    assert (done.code, done.err) == (0, "")
    assert "winobias: " in figure.read_text(encoding="utf-8")


def test_as_published(cli: Run, folder: Path, found: Path) -> None:
    done = cli("winobias", folder, "--clusters", found, "--as-published", "--draws", 5)
    text = " ".join(done.out.split())
    assert "left out of separation" in text
    assert "|D(F) − D(M)|, as published" in text


def test_sentences_go_out_and_come_back(cli: Run, folder: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "sentences.jsonl", tmp_path / "back.jsonl"
    done = cli("winobias", folder, "--sentences", out)
    assert done.code == 0
    assert f"Written: {out}" in done.out
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 24
    # a system that joins the first two words with the last word but one, in tokens
    for sentence in lines:
        sentence["clusters"] = [[[0, 1], [len(sentence["tokens"]) - 2] * 2]]
    back.write_text("\n".join(map(json.dumps, lines)))
    arguments = ("--span-unit", "tokens", "--inclusive", "--draws", 0, "--format", "jsonl")
    scored = cli("winobias", folder, "--clusters", back, *arguments)
    assert scored.code == 0
    assert json.loads(scored.out.splitlines()[0])["measure"] == "conll-f1"


@pytest.mark.slow
def test_masked_sentences_are_encoded_and_probed(cli: Run, folder: Path, tmp_path: Path) -> None:
    masked, vectors = tmp_path / "masked.tsv", tmp_path / "masked.st"
    done = cli("winobias", folder, "--masked", masked, "--mask", "[MASK]")
    assert done.code == 0
    rows = list(csv.DictReader(masked.read_text().splitlines(), delimiter="\t"))
    assert f"Written: {masked}, {len(rows)} professions in sentences" in " ".join(done.out.split())
    model = tmp_path / "model"
    words = tiny_encoders.words_of(*(row["text"] for row in rows))
    tokenizer = tiny_encoders.make_tokenizer(words)
    tiny_encoders.save(tiny_encoders.build("bert", "Model"), tokenizer, model)
    spans = ("--span-columns", "start,end", "-q")
    assert cli("encode", model, masked, "-o", vectors, "--layers", "last", *spans).code == 0
    probe = ("--labels", "gender", "--unit", "profession", "--no-control", "--seed", 0)
    done = cli("probe", vectors, *probe, "--format", "json", "--fractions", "50,100")
    assert done.code == 0
    assert json.loads(done.out)["rows"][0]["measure"] == "compression"


def test_what_is_wrong_is_one_line(
    cli: Run, refused: Refused, folder: Path, found: Path, tmp_path: Path
) -> None:
    assert "expected the folder with the files" in refused("winobias", tmp_path / "nowhere")
    nowhere = tmp_path / "nowhere.json"
    assert f"{nowhere}: cannot be read" in refused("winobias", folder, "--clusters", nowhere)
    lines = found.read_text().splitlines()
    found.write_text("\n".join([*lines[:-1], lines[-1][:-4]]))
    assert "line 24: expected" in refused("winobias", folder, "--clusters", found)
    found.write_text("\n".join(lines[:-1]))
    assert "has no clusters of" in refused("winobias", folder, "--clusters", found)
    missing = tmp_path / "no" / "folder.tsv"
    assert "does not exist" in refused("winobias", folder, "--masked", missing)
    assert "is both" in refused("winobias", folder, "--clusters", found, "--sentences", found)
    both = tmp_path / "both"
    assert "is both" in refused("winobias", folder, "--masked", both, "--sentences", both)
    assert cli("winobias").code == 2
    assert cli("winobias", folder, "--span-unit", "words").code == 2
