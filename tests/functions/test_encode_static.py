"""`wordbias.encode` with static models, compared with the libraries whose folders they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel
from static_folders import known_words, model2vec_folder, sentence_folder, sentence_transformer

import wordbias as wb
from wordbias import WordbiasError

Run = Callable[..., Any]
WORDS = known_words()
TEXTS = [
    "She is a nurse.",
    "nurses and teachers housed kings, zqxj",
    *(" ".join(WORDS[i : i + 2 + i % 7]) for i in range(0, 900, 30)),
    " ".join(WORDS) * 2,
]


@pytest.mark.each_once("normalize")
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("clusters", [None, 700])
def test_vectors_are_those_of_model2vec(
    normalize: bool, clusters: int | None, tmp_path: Path
) -> None:
    folder = model2vec_folder(tmp_path / "m", clusters=clusters, normalize=normalize)
    reps = wb.encode(folder, TEXTS)
    theirs = StaticModel.from_pretrained(folder).encode(TEXTS)
    np.testing.assert_allclose(reps[0], theirs, rtol=1e-4, atol=1e-5)
    assert reps.about["truncated"] == 1
    assert reps.report is not None
    assert reps.report.inputs["model"]["max_length"] == 512


@pytest.mark.slow
@pytest.mark.parametrize("normalize", [True, False])
def test_vectors_are_those_of_sentence_transformers(normalize: bool, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "m", normalize=normalize)
    theirs = sentence_transformer(folder).encode(TEXTS)
    reps = wb.encode(folder, TEXTS)
    np.testing.assert_allclose(reps[0], theirs, rtol=1e-4, atol=1e-5)
    assert reps.about["modules"] == ("StaticEmbedding", *(["Normalize"] if normalize else []))


def test_max_length(tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "m")
    theirs = StaticModel.from_pretrained(folder).encode(TEXTS, max_length=3)
    reps = wb.encode(folder, TEXTS, max_length=3)
    np.testing.assert_allclose(reps[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_file_that_probe_reads(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model2vec_folder(Path("m"))
    people = [("she", "her"), ("he", "his")]
    lines = [f"{word} {mine} {other}\t{word}" for other in WORDS[:60] for word, mine in people]
    Path("t.tsv").write_text("text\tgender\n" + "\n".join(lines) + "\n")
    done = cli("encode", "m", "t.tsv", "-o", "r.safetensors")
    assert (done.code, "Written: r.safetensors." in done.out) == (0, True), done.err
    second = cli("encode", "m", "t.tsv", "-o", "r.safetensors")
    assert "r.safetensors is complete already" in second.out
    probed = cli("probe", "r.safetensors", "--labels", "gender", "--format", "json")
    assert probed.code == 0, probed.err
    rows = json.loads(probed.out)["rows"]
    first = next(row for row in rows if row["measure"] == "probe-accuracy")
    assert first["value"] > 0.9
    other = cli("encode", "m", "t.tsv", "-o", "r.safetensors", "--max-length", "2")
    assert other.code == 1
    assert "r.safetensors: is of another run: its max_length is 512, not 2" in other.err


def test_a_text_without_a_known_token(tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "m")
    with pytest.raises(WordbiasError, match=r"row 2: has no token that the model knows"):
        wb.encode(folder, ["a nurse", "ξξξ"])
    with wb.config(skip_bad=True):
        assert len(wb.encode(folder, ["a nurse", "ξξξ"])) == 1


@pytest.mark.slow
def test_probe_encodes_the_texts_itself(tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "m")
    texts = [f"{word} {other}" for other in WORDS[:60] for word in ("she", "he")]
    columns = {"text": texts, "gender": ["F", "M"] * 60}
    ours = wb.probe(folder, "gender", texts=columns, mdl=False, epochs=5, seed=[0])
    reps = wb.encode(folder, columns)
    theirs = wb.probe(reps, "gender", mdl=False, epochs=5, seed=[0])
    assert [row.value for row in ours.rows] == [row.value for row in theirs.rows]


@pytest.mark.parametrize("option", [{"layers": 0}, {"pooling": "mean"}])
def test_options_of_encoders_are_refused(option: dict[str, Any], tmp_path: Path) -> None:
    folder = model2vec_folder(tmp_path / "m")
    with pytest.raises(WordbiasError, match=r"is for encoders; .* is a static model"):
        wb.encode(folder, ["a nurse"], **option)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "config_sentence_transformers.json",
            {"prompts": {"q": "query: "}, "default_prompt_name": "q"},
            "a prompt or truncate_dim is not understood",
        ),
        ("config_sentence_transformers.json", {"truncate_dim": 5}, "truncate_dim is not underst"),
        (
            "modules.json",
            [{"type": "s.StaticEmbedding", "path": ""}, {"type": "s.Dense", "path": "1"}],
            "expected StaticEmbedding, perhaps then Normalize; found StaticEmbedding, Dense",
        ),
        ("modules.json", [{"type": "s.StaticEmbedding", "path": ""}, 3], "lists no modules"),
    ],
)
def test_what_would_change_vectors_otherwise_is_refused(
    file: str, content: Any, message: str, tmp_path: Path
) -> None:
    folder = sentence_folder(tmp_path / "m")
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(WordbiasError, match=message):
        wb.encode(folder, ["a nurse"])
