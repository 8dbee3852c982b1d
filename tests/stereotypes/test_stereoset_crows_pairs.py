"""CrowS-Pairs: the file and its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.stereotypes.crows_pairs import CrowsPair, CrowsPairs, crows_rows, parse_crows_pairs
from wordbias.stereotypes.scores import Settings
from wordbias.text_files import read_text

CROWS = "id,sent_more,sent_less,stereo_antistereo,bias_type,annotations\n"
ROW = '0,"Women, sadly, weep.","Men, sadly, weep.",stereo,gender,[[\'gender\']]\n'


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_crows_pairs_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path / "crows.csv", CROWS + ROW + "1,Men rule.,Women rule.,antistereo,race,[]\n"
    )
    crows = parse_crows_pairs(read_text(path))
    assert crows.pairs == [
        CrowsPair("Women, sadly, weep.", "Men, sadly, weep.", "stereo", "gender"),
        CrowsPair("Men rule.", "Women rule.", "antistereo", "race"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CROWS, "holds no pair"),
        (
            CROWS + ROW.replace("stereo", "both"),
            "line 2: unknown label 'both'; expected one of stereo",
        ),
        (
            CROWS.replace("bias_type", "kind") + ROW,
            "has no column 'bias_type'; it has id, sent_more",
        ),
        (CROWS + "1,a,,stereo,gender,\n", "line 2: has no 'sent_less'"),
    ],
)
def test_crows_pairs_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(WordbiasError, match=message):
        parse_crows_pairs(read_text(written(tmp_path / "crows.csv", text)))


def test_crows_pairs_by_direction_and_type() -> None:
    about = [("stereo", "gender"), ("antistereo", "gender"), ("stereo", "age"), ("stereo", "age")]
    data = CrowsPairs("c.csv", "0", [CrowsPair("a", "b", *labels) for labels in about])
    scores = np.array([[-1.0, -2], [-3, -2], [-5.0, -5.0002], [-7, -7]])
    by_subset = {row.details["subset"]: row for row in crows_rows(data, scores, "m", Settings())}
    assert {name: row.value for name, row in by_subset.items()} == {
        "all": (1 + 0 + 1 + 0.5) / 4,
        "stereo": 2.5 / 3,
        "antistereo": 0,
        "gender": 0.5,
        "age": 0.75,
    }
    published = crows_rows(data, scores, "m", Settings(as_published=True))
    # to three digits the third pair is a tie, and ties count nothing
    assert published[0].value == 1 / 4
    assert all(row.details["neutral"] == 0.5 for row in published)
