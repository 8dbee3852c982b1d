"""The vectors that tools/cut_vectors.py cuts: models read what they read of the whole file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import small_word_lists

import wordbias as wb
from wordbias.data import sample_path
from wordbias.methods import misp
from wordbias.nli.lexicon import Lexicon
from wordbias.nli.pairs import load_pairs
from wordbias.nli.test_sets import build
from wordbias.wordlists import Templates

TOOL = Path(__file__).parents[1] / "tools" / "cut_vectors.py"


@pytest.mark.slow
def test_models_and_misp_read_what_they_read_of_the_whole_file(tmp_path: Path) -> None:
    whole = wb.load(sample_path()).renamed("glove")
    whole.save(tmp_path / "glove.safetensors")
    pairs, lists = tmp_path / "pairs.tsv", tmp_path / "lists"
    pairs.write_text("neutral\tA Senator reads xqz .\tA man reads .\n", encoding="utf-8")
    small_word_lists.write(lists, "nurse doctor teacher")
    files = [str(tmp_path / name) for name in ("cut", "glove.safetensors", "pairs.tsv", "lists")]
    given = [*files[:2], "--pairs", files[2], "--lists", files[3]]
    done = subprocess.run(
        [sys.executable, str(TOOL), *given], capture_output=True, text=True, check=True
    )
    cut = wb.load(tmp_path / "cut" / "glove.safetensors")
    assert f"{len(cut):,} of {len(whole):,} words" in done.stdout
    assert {"senator", "reads"} <= {*cut.words} < {*whole.words}
    test = build("explicit", Templates.load(lists))
    read = load_pairs(pairs)
    sentences = [*read.premises, *read.hypotheses, *(tuple(pair.premise.split()) for pair in test)]
    tables = [Lexicon.of(sentences).table(embedding) for embedding in (whole, cut)]
    assert tables[0].lower
    assert tables[1].lower
    assert np.array_equal(tables[0].vectors, tables[1].vectors)
    fitted = [misp.fit(embedding).subspace for embedding in (whole, cut)]
    assert np.array_equal(fitted[0].weights, fitted[1].weights)
