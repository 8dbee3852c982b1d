"""Commands that need an encoder's head, given a decoder: one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import small_likelihood  # noqa: E402
import stand_ins  # noqa: E402
from tiny_decoders import save_decoder  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder, CrowS-Pairs, enhanced StereoSet, SNLI, and biographies."""
    path = tmp_path_factory.mktemp("refused")
    save_decoder(path / "decoder")
    small_likelihood.crows_pairs(path / "crows.csv")
    stand_ins.gsss(path / "gsss.csv")
    pairs = "".join(f"{label}\tA man ran.\tHe ran.\n" for label in ("entailment", "neutral") * 4)
    (path / "nli.tsv").write_text(pairs)
    lines = [
        f"{who} is a {job} number {i}.\t{job}\t{gender}\t{split}"
        for i in range(3)
        for who, gender in (("She", "F"), ("He", "M"))
        for job in ("nurse", "surgeon")
        for split in ("train", "dev", "test")
    ]
    (path / "bios.tsv").write_text("text\tprofession\tgender\tsplit\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("likelihood DECODER --data gsss.csv", "pairs of sentences, which a next-sentence head"),
        (
            "fine-tune DECODER --head nli --train nli.tsv --dev nli.tsv -o OUT",
            "reads the last of the tokens, and here the first token alone",
        ),
        (
            "bios --model DECODER --data bios.tsv --head-only --epochs 1 --seed 0 -o OUT",
            "--pooling=last",
        ),
    ],
)
def test_a_decoder_is_refused_in_one_line(
    folder: Path, cli: Cli, tmp_path: Path, call: str, said: str
) -> None:
    words = {"DECODER": folder / "decoder", "OUT": tmp_path / "out"}
    given = [words.get(w, folder / w if (folder / w).is_file() else w) for w in call.split()]
    done = cli(*given, "-q")
    assert (done.code, done.err.count("\n")) == (1, 1), done.err
    assert said in done.err
    assert not (tmp_path / "out" / "config.json").exists()
