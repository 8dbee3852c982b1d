"""The figure of the experiment: what is drawn, and that a file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wordbias import Report, WordbiasError
from wordbias.pages.retraining_plots import compression_panel, plot_compression_fairness
from wordbias.results import Row
from wordbias.retraining.results import AFTER, BEFORE, COMPRESSED, GAPS
from wordbias.retraining.summary import Summary

pytest.importorskip("matplotlib")
X = {"none": [4.0, 4.5, 3.5], "scrub": [1.5, 1.7, 1.6]}


pytestmark = pytest.mark.usefixtures("usual_numerics")


def rows(*, undefined: str = "") -> list[Row]:
    table = []
    for i, (name, compression) in enumerate(X.items()):
        for seed, x in enumerate(compression):
            about = {"seed": seed, "view": "own"}
            vectors = {**about, "stage": "representation", "set": "all"}
            table.append(Row(name, COMPRESSED.measure, x, vectors))
            for stage, factor in ((BEFORE, 1.0), (AFTER, 2.0)):
                for metric in GAPS:
                    value = None if metric.set == undefined else factor * (x + i + seed)
                    details = {**about, "stage": stage, "set": metric.set}
                    table.append(Row(name, metric.measure, value, details))
    return table


def save(path: Path, given: list[Row]) -> None:
    Report("bios", {}, rows=given, picture=plot_compression_fairness).save(path)


def test_a_run_is_two_marks_above_each_other() -> None:
    panel = compression_panel(Summary.of(rows()), GAPS[1])
    looks = list(dict.fromkeys(dot.look for dot in panel.dots))
    assert [look.css.endswith("hollow") for look in looks] == [True, False] * len(X)
    assert len({look.css.removesuffix(" hollow") for look in looks}) == len(X)
    for i, name in enumerate(X):
        x = np.array(X[name])
        y = x + i + np.arange(3)
        for look, factor in zip(looks[2 * i : 2 * i + 2], (1, 2), strict=True):
            places = [dot.place for dot in panel.dots if dot.look == look]
            assert np.array(places) == pytest.approx(np.column_stack([x, factor * y]))
    links = [path for path in panel.paths if path.css.startswith("link")]
    assert len(links) == 6
    assert all(first[0] == last[0] for first, last in (path.places for path in links))


def test_the_lines_are_those_of_least_squares() -> None:
    panel = compression_panel(Summary.of(rows()), GAPS[1])
    x = np.concatenate(list(X.values()))
    y = np.concatenate([np.array(v) + i + np.arange(3) for i, v in enumerate(X.values())])
    fits = {path.css: path.places for path in panel.paths if path.css.startswith("grid")}
    assert list(fits) == ["grid effect", "grid"]
    for places, factor in zip(fits.values(), (1, 2), strict=True):
        design = np.column_stack([np.ones(6), x])
        level, slope = np.linalg.lstsq(design, factor * y, rcond=None)[0]
        ends = np.array([x.min(), x.max()])
        assert np.array(places) == pytest.approx(np.column_stack([ends, level + slope * ends]))
    r2 = np.corrcoef(x, y)[0, 1] ** 2
    assert panel.title == f"R² {r2:.2f} before, {r2:.2f} after"


def test_without_enough_runs_there_is_no_line() -> None:
    few = [row for row in rows() if row.details["seed"] == 0]
    panel = compression_panel(Summary.of(few), GAPS[1])
    assert not [path for path in panel.paths if path.css.startswith("grid")]
    assert panel.title == "R² undefined"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".SVG", ".pdf"])
def test_files_are_written_and_the_same_again(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"figure{suffix}"
    save(file, rows())
    first = file.read_bytes()
    assert first[:4] == {".png": b"\x89PNG", ".SVG": b"<?xm", ".pdf": b"%PDF"}[suffix]
    if suffix != ".pdf":
        save(file, rows())
        assert file.read_bytes() == first
    assert list(tmp_path.iterdir()) == [file]


def test_a_panel_is_a_metric_that_is_defined(tmp_path: Path) -> None:
    file = tmp_path / "figure.svg"
    save(file, rows(undefined="pearson"))
    text = file.read_text()
    assert ">TPR gap (S)<" in text
    assert ">TPR gap (P)<" not in text
    for name in X:
        assert f">{name}<" in text


def test_nothing_to_draw(tmp_path: Path) -> None:
    file = tmp_path / "figure.png"
    vectors = [row for row in rows() if row.details["stage"] == "representation"]
    for given in (vectors, []):
        with pytest.raises(WordbiasError, match=r"^no run has both a compression and"):
            save(file, given)
    assert not list(tmp_path.iterdir())
