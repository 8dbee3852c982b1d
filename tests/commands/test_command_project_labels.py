"""`wordbias project` with labelled texts, and in decoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_decoders import save_decoder

import wordbias as wb
from wordbias.contextual.adapters import Adapter
from wordbias.errors import UsageError

pytest.importorskip("transformers")
PEOPLE = ["She is a nurse.", "He is a surgeon.", "Her shift was long.", "His list is short."]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "tiny-llama"
    save_decoder(folder)
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("texts") / "people.tsv"
    rows = [f"{text} {i}\t{'MF'[i % 2 == 0]}\ttrain" for i, text in enumerate(PEOPLE * 8)]
    file.write_text("text\tgender\tsplit\n" + "\n".join([*rows, "A text.\t\ttest"]) + "\n")
    return file


def test_labels_are_removed_behind_every_layer(
    cli: Callable[..., Any], decoder: Path, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scrubbed.adapter"
    given = ("project", decoder, "--texts", texts, "--labels", "gender", "--where", "split=train")
    shown = cli(*given, "-o", out)
    assert "Removals of gender by leace in tiny-llama" in shown.out
    assert "wordbias probe MODEL --texts OTHERS --labels COLUMN --adapter" in shown.out
    adapter = Adapter.load(out)
    assert (adapter.chosen, adapter.fingerprint.architecture) == ("tokens@1..2", "LlamaForCausalLM")
    assert adapter.facts["classes"] == {"F": 16, "M": 16}
    found = json.loads(cli(*given, "--format", "json", "--simultaneous").out)["rows"]
    assert [(row["measure"], row["site"], row["stage"]) for row in found] == [
        ("label-explained", f"tokens@{layer}", stage)
        for layer in (1, 2)
        for stage in ("before", "after")
    ]
    assert [row["value"] for row in found if row["stage"] == "after"] == [0, 0]
    assert {row["sequential"] for row in found} == {False}
    made = wb.project(decoder, texts=texts, labels="gender", where={"split": "train"})
    assert [a.content for a in made.interventions()] == [b.content for b in adapter.interventions()]


def test_a_part_of_a_sequential_fit_is_noted(
    cli: Callable[..., Any], decoder: Path, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "one.adapter"
    cli(
        *("project", decoder, "--texts", texts, "--labels", "gender", "--where", "split=train"),
        *("-o", out, "--setting", "tokens@2"),
    )
    shown = cli(
        *("probe", decoder, "--texts", texts, "--labels", "gender", "--where", "split=train"),
        *("--adapter", out, "--accuracy", "--seeds", "0"),
    )
    assert "tokens@2: is a part of removals that were fitted one after another" in shown.err


def test_pairs_in_a_decoder(cli: Callable[..., Any], decoder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.adapter"
    shown = cli("project", decoder, "-o", out, "--tokens", "last")
    adapter = Adapter.load(out)
    assert adapter.chosen == "tokens@1..2"
    assert list(map(str, adapter.interventions())) == [
        "tokens@1: 1 of 16, hard",
        "tokens@2: 1 of 16, hard",
    ]
    assert "no site sentence" not in shown.err
    cli("project", decoder, "-o", out, "--method", "leace", "--sites", "attention-output@all")
    assert Adapter.load(out).facts["classes"].keys() == {"first", "second"}
    folder = tmp_path / "folded"
    shown = cli(
        *("project", decoder, "--method", "hard", "--sites", "input@1,mlp-output@all"),
        *("--export", folder),
    )
    assert "Written" in shown.out
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_pretrained(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--labels", "gender"), "--texts and --labels go together"),
        (("--texts", "FILE"), "--texts and --labels go together"),
        (("--texts", "FILE", "--labels", "gender"), "1 of 33 examples have no gender"),
        (("--texts", "FILE", "--labels", "age"), "neither a column of"),
        (("--texts", "FILE", "--labels", "split", "--where", "gender=F"), "are of one class"),
        (("--texts", "FILE", "--labels", "split", "--pairs", "x.toml"), "choose one of --texts"),
        (("--texts", "FILE", "--labels", "split", "--unit"), "for the components of pairs"),
        (("--texts", "FILE", "--labels", "split", "--dims", "2"), "--dims: with labels is for"),
        (("--texts", "FILE", "--labels", "split", "--tokens", "word"), "expected one of all"),
        (("--texts", "FILE", "--labels", "split", "--setting", "L12-110"), "is removed at sites"),
        (("--texts", "FILE", "--labels", "split", "--sites", "cls@1"), "is a decoder"),
        (("--simultaneous",), "--simultaneous is for removals of labels"),
        (("--where", "split=train"), "--where goes with --texts"),
        (("--limit", "5"), "--limit goes with --sent-debias or --texts"),
        (("--tokens", "cls"), "is a decoder, whose first token reads no other"),
        (("--tokens", "all"), "expected one of mean, word, cls"),
    ],
)
def test_what_is_refused_in_one_line(
    cli: Callable[..., Any],
    decoder: Path,
    texts: Path,
    tmp_path: Path,
    options: tuple[str, ...],
    message: str,
) -> None:
    out = tmp_path / "none.adapter"
    given = [str(texts) if one == "FILE" else one for one in options]
    shown = cli("project", decoder, "-o", out, *given)
    assert shown.code in (1, 2)
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert not out.exists()


def test_in_python_messages_name_arguments(decoder: Path, texts: Path) -> None:
    with pytest.raises(UsageError, match="sequential=False is for removals of labels"):
        wb.project(decoder, sequential=False)
