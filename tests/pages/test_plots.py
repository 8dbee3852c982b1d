"""Figures: what is in them, and that a file is whole or not there."""

from __future__ import annotations

import struct
import zlib
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_cases import first_quick

from wordbias import Report, WordbiasError
from wordbias.comparison import Comparison, correlations
from wordbias.pages import plots
from wordbias.pages.compare_plots import matrix_panel, plot_comparison, scatter_panel, short

Figure = pytest.importorskip("matplotlib.figure").Figure


pytestmark = pytest.mark.usefixtures("usual_numerics")


@pytest.fixture
def table() -> Comparison:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(16, 5))
    values[:14, 3] = np.nan
    values[2, 1] = np.nan
    names = ["DB", "MIDB_$x$", "gipe[θ=0.03]", "few", "E & <F>"]
    return Comparison([f"GloVe.{i}" for i in range(16)], names, values)


def _png_size(data: bytes) -> tuple[int, int]:
    """Check every chunk's checksum down to the end and return width and height."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds, size = 8, [], (0, 0)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(
            kind + body
        )
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        kinds.append(kind)
        at += 12 + length
    assert kinds[-1] == b"IEND"
    return size


def _save(path: Path, table: Comparison) -> bytes:
    correlated = correlations(table)
    picture = partial(plot_comparison, table, correlated, correlated.strongest())
    Report("compare", {}, picture=picture).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("columns", first_quick([2, 3, 5]))
def test_png(tmp_path: Path, table: Comparison, columns: int) -> None:
    part = table.only(["DB", "MIDB_$x$", "gipe", "few", "E & <F>"][:columns])
    width, height = _png_size(_save(tmp_path / "a.png", part))
    assert 1000 < width < 2500
    assert 500 < height < width


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "begin"), [(".pdf", b"%PDF-"), (".svg", b"<?xml")])
def test_vector_formats(tmp_path: Path, table: Comparison, suffix: str, begin: bytes) -> None:
    assert _save(tmp_path / f"a{suffix}", table).startswith(begin)


@pytest.mark.slow
def test_svg_holds_all_names_as_text_and_is_reproducible(tmp_path: Path, table: Comparison) -> None:
    first = _save(tmp_path / "a.svg", table)
    for name in [*table.subjects, "MIDB_$x$", "gipe[θ=0.03]", "E &amp; &lt;F&gt;"]:
        missing = name == "GloVe.2"  # has no value of one of the two measures
        assert (f">{name}<".encode() in first) or missing
    assert first == _save(tmp_path / "b.svg", table)


def test_the_matrix_shows_every_pair_once(table: Comparison) -> None:
    correlated = correlations(table)
    axes = Figure().subplots()
    plots.draw_panel(axes, matrix_panel(correlated))
    texts = ["–" if pair.r is None else short(pair.r) for pair in correlated.pairs]
    assert sorted(text.get_text() for text in axes.texts) == sorted(texts)
    assert texts.count("–") == 4
    assert [label.get_text() for label in axes.get_xticklabels()] == correlated.measures[:-1]
    assert [label.get_text() for label in axes.get_yticklabels()] == correlated.measures[1:]
    for bar in matrix_panel(correlated).bars:
        if bar.css != "undefined":
            r = float(bar.name.replace("−", "-"))
            assert bar.strength == pytest.approx(abs(r), abs=0.005)
            assert bar.css == ("m1" if r > 0 else "after")


def test_the_scatter_shows_the_embeddings_that_have_both(table: Comparison) -> None:
    pair = correlations(table).strongest("MIDB_$x$", "DB")
    axes = Figure().subplots()
    plots.draw_panel(axes, scatter_panel(table, pair))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("DB", "MIDB_$x$")
    assert axes.get_title(loc="left") or axes.get_title()
    texts: list[Any] = list(axes.texts)
    named = {text.get_text(): text.xy for text in texts}
    assert set(named) == set(table.subjects) - {"GloVe.2"}
    assert named["GloVe.7"] == pytest.approx(table.values[7, :2])


def test_the_title_says_what_is_compared(tmp_path: Path, table: Comparison) -> None:
    drawn = _save(tmp_path / "a.svg", table).decode()
    assert ">compare: Pearson correlation r between 5 measures over 16 embeddings<" in drawn


def test_names_do_not_overlap_when_there_is_room() -> None:
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    axes = Figure(figsize=(6, 4)).subplots()
    axes.scatter(*grid.T)
    axes.margins(0.2)
    plots.label_points(axes, grid, [f"embedding {i}" for i in range(20)])
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    frame = axes.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


def test_names_of_equal_points_are_written_apart() -> None:
    axes = Figure(figsize=(6, 4)).subplots()
    points = np.zeros((6, 2))
    axes.scatter(*points.T)
    plots.label_points(axes, points, ["one", "two", "three", "four", "five", "six"])
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("r", "text"),
    [
        (0.667, ".67"),
        (-0.166, "−.17"),
        (1, "1.00"),
        (-1, "−1.00"),
        (-0.003, ".00"),
        (0.997, "1.00"),
    ],
)
def test_short(r: float, text: str) -> None:
    assert short(r) == text


def test_a_failure_leaves_what_was_there(
    tmp_path: Path, table: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def fail(self: Any, file: Any, **options: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(WordbiasError, match="could not be written: No space left"):
        _save(path, table)
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.csv"])
def test_other_suffixes(tmp_path: Path, name: str) -> None:
    with pytest.raises(WordbiasError, match=r"cannot be drawn; name a file in \.png, \.pdf, \.svg"):
        plots.check_plot(tmp_path / name)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(WordbiasError, match="does not exist"):
        plots.check_plot(tmp_path / "no" / "a.png")


def test_without_matplotlib_the_message_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(WordbiasError, match=r"A figure needs matplotlib; .* .wordbias\[plot\]."):
        plots.check_plot(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
