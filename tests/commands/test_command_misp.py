"""`wordbias misp`: its options, its formats, what it says and what it writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stand_ins

import wordbias as wb
from wordbias import Attribute, Embedding
from wordbias.measures.midb import MIDB
from wordbias.methods.misp import fit

Run = Callable[..., Any]

AGE = """
name = "age"
[groups]
young = ["young", "youth", "teenager", "kid", "junior", "child"]
old = ["old", "elderly", "retired", "senior", "aged"]
[pairs]
definitional = [["young", "old"], ["junior", "senior"]]
"""
MEASURES = {
    "difference-removed",
    "explained-variance",
    "difference-in-span",
    *MIDB,
    "direct-bias",
    "direct-bias-pca",
    "displacement",
    "neighbours-preserved",
}
WORDS = ["doctor", "nurse", "engineer", "teacher", "boss", "maid", "table", "water"]


@pytest.fixture
def age(tmp_path: Path) -> Path:
    path = tmp_path / "age.toml"
    path.write_text(AGE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def vocab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short vocabulary, which also makes the command quick."""
    path = tmp_path_factory.mktemp("misp") / "words.txt"
    path.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def found(once: Run, vocab: Path) -> Callable[..., dict[str, Any]]:
    """Run quickly on the sample, each call once, and return the parsed JSON."""

    def call(*arguments: object, vocab: Path | None = vocab) -> dict[str, Any]:
        given = ["--vocab", vocab] if vocab else []
        done = once("misp", *given, "--format", "json", "--quiet", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _weights(found: dict[str, Any]) -> list[float]:
    return [row["value"] for row in found["rows"] if row["measure"] == "explained-variance"]


def _value(found: dict[str, Any], measure: str, stage: str, reference: str | None = None) -> float:
    (value,) = (
        row["value"]
        for row in found["rows"]
        if row["measure"] == measure
        and (row.get("stage"), row.get("reference")) == (stage, reference)
        and "word" not in row
    )
    return float(value)


def test_every_measure_is_reported(found: Callable[..., Any]) -> None:
    result = found()
    assert {row["measure"] for row in result["rows"]} == MEASURES
    assert result["command"] == "misp"
    assert list(result["inputs"]) == ["sample"]
    assert (result["inputs"]["sample"]["dim"], result["seed"]) == (100, 0)
    assert {row["n"] for row in result["rows"] if row["measure"] == "midb"} == {len(WORDS)}
    for row in result["rows"]:
        assert isinstance(row["value"], float) or row["reason"]


def test_dims(found: Callable[..., Any]) -> None:
    usual = _weights(found())
    for dims in (1, 7):
        weights = _weights(found("--dims", dims))
        assert len(weights) == dims
        assert weights[:4] == pytest.approx(usual[:dims], rel=1e-12)


def test_the_difference_is_kept_unless_it_is_centred(found: Callable[..., Any]) -> None:
    def share(*arguments: str) -> float:
        (row,) = (r for r in found(*arguments)["rows"] if r["measure"] == "difference-in-span")
        assert row["centred"] is bool(arguments)
        return float(row["value"])

    assert share("--centre") < 0.5 < share()
    assert found("--as-published")["rows"] == found("--centre")["rows"]


@pytest.mark.slow
def test_the_first_line_says_what_was_removed(once: Run, found: Callable[..., Any]) -> None:
    sample = Embedding.sample()
    groups = [[word.lower() for word in words] for words in Attribute.load().members]

    def left(**options: bool) -> float:
        delta = np.subtract(*(sample.take(words).astype(float).mean(0) for words in groups))
        remainder = fit(sample, **options)(delta)
        return float(remainder @ remainder / (delta @ delta))

    row = found()["rows"][0]
    assert row["measure"] == "difference-removed"
    assert row["value"] == pytest.approx(1 - left(), rel=1e-9)
    assert row["published"] == pytest.approx(1 - left(as_published=True), rel=1e-9)
    first = _one_line(once("misp").out)
    assert first.startswith(
        f"The means of the groups come {1 - left() ** 0.5:.1%} nearer to each other "
        f"({1 - left():.1%} of the squared distance); by the published variant "
        f"{1 - left(centre=True) ** 0.5:.1%}. MISP is soft: {left() ** 0.5:.1%} of the distance"
    )
    centred = _one_line(once("misp", "--centre").out)
    assert "nearer to each other (4.0% of the squared distance), as published: the" in centred


@pytest.mark.parametrize(
    ("weights", "centre"), [("perm:2134", []), ("0.5,0.3,0.2,0.1", ["--centre"])]
)
def test_other_weights_are_not_compared_with_the_published_variant(
    weights: str, centre: list[str], once: Run, vocab: Path
) -> None:
    done = once("misp", "--vocab", vocab, "--weights", weights, *centre)
    assert "published" not in done.out
    assert "published" in once("misp", "--vocab", vocab, "--weights", "variance", *centre).out


@pytest.mark.slow
def test_the_first_screen_is_a_few_sentences_and_five_rows(once: Run) -> None:
    """The rest is printed with --details; the table is that of the rows."""
    short, long = once("misp").out, once("misp", "--details").out
    sentences, text = short.split("\n\n")[0], _one_line(short)
    assert 3 <= _one_line(sentences + " ").count(". ") + 1 <= 5
    assert "Cost: words move by 3.6% of their length on average and keep 96.4% of" in text
    assert "lean along the directions of the groups no more than along others" in text
    table = short[short.index("Before and after") :].splitlines()
    rows = [line for line in table[2:] if line[:3] != "  a" and line.startswith("  ")]
    assert len(rows) == 5 + 1  # and the rest of the note
    assert "-o FILE writes the result" in text
    assert "--details" in text
    for word in ("cos(g, Δ)", "sign stability", "MIDB (RMS of components)", "Most moved words"):
        assert word not in short
        assert word in long
    assert "Before and after" not in long


@pytest.mark.slow
def test_the_table_of_the_first_screen_has_the_values_of_the_rows(once: Run, cli: Run) -> None:
    rows = json.loads(cli("misp", "--format", "json").out)
    sample, screen = Embedding.sample(), once("misp").out
    groups = [[word.lower() for word in words] for words in Attribute.load().members]
    delta = np.subtract(*(sample.take(words).astype(float).mean(0) for words in groups))
    distances = [np.linalg.norm(difference) for difference in (delta, fit(sample)(delta))]
    line = re.search(r"distance between the groups' means +(\S+) +(\S+)\n", screen)
    assert line is not None
    assert [float(x) for x in line.groups()] == pytest.approx(distances, abs=5e-4)
    for title, measure in (("lean of neutral", "midb-unit-abs"), ("direct bias", "direct-bias")):
        line = re.search(rf"  {title}.*\) +(\S+) +(\S+) +(\S+) \((\S+) to (\S+)\)", screen)
        assert line is not None
        before = next(
            row for row in rows["rows"] if (row["measure"], row.get("stage")) == (measure, "before")
        )
        expected = [
            before["value"],
            _value(rows, measure, "after", "before"),
            *(before[key] for key in ("chance", "chance_low", "chance_high")),
        ]
        assert [float(x) for x in line.groups()] == pytest.approx(expected, abs=6e-4)


@pytest.mark.slow
def test_a_users_attribute(cli: Run, found: Callable[..., Any], age: Path) -> None:
    result = found("--groups", age, "--dims", 2)
    assert _weights(result)
    assert result["arguments"]["groups"] == str(age)
    done = cli("misp", "--groups", age, "--dims", 2)
    assert "Attribute age: 6 of 6 young + 5 of 5 old words found" in done.out
    assert "young − old" in done.out
    assert not re.search(r"\b(she|he|female|male|gender)\b", done.out)


def test_the_strict_filter_drops_long_and_capitalised_words(
    found: Callable[..., Any], tmp_path: Path
) -> None:
    small = stand_ins.small()
    vectors = np.concatenate([small.vectors, small.take(["she", "he"])])
    path = tmp_path / "v.safetensors"
    Embedding([*small.words, "Waters", "x" * 20], vectors).save(path)

    def size(*arguments: object) -> int:
        rows = found(path, *arguments, "--no-chance", vocab=None)["rows"]
        return max(row["n"] for row in rows if row["measure"] == "midb")

    assert size() - size("--strict-vocab") == 2


def test_missing_words_of_a_group_are_listed(found: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(AGE.replace('"kid"', '"kid", "zzyzxq"'), encoding="utf-8")
    rows = found("--groups", path, "--dims", 2)["rows"]
    assert {tuple(row["missing"]) for row in rows if "missing" in row} == {("zzyzxq",)}


def test_missing_words_of_the_vocabulary_are_not_silent(cli: Run, tmp_path: Path) -> None:
    """Of the notes of that call nothing stays with -q, which all calls above have."""
    (tmp_path / "words.txt").write_text("\n".join([*WORDS, "zzyzxq"]), encoding="utf-8")
    done = cli("misp", "--vocab", tmp_path / "words.txt", "--centre")
    assert "8 of 9" in done.out + done.err or "zzyzxq" in done.out + done.err
    assert "note: these components hold" in done.err


def test_the_seed_and_only_the_seed_decides(found: Callable[..., Any]) -> None:
    def stability(seed: int) -> list[float]:
        rows = found("--seed", seed)["rows"]
        return [row["sign_stability"] for row in rows if row["measure"] == "explained-variance"]

    assert stability(0) != stability(1)
    values = [[row["value"] for row in found("--seed", seed)["rows"]] for seed in (0, 1)]
    assert values[0] == values[1]


def test_one_thread_and_two_agree(found: Callable[..., Any]) -> None:
    single, two = found()["rows"], found("--threads", 2)["rows"]
    for a, b in zip(single, two, strict=True):
        assert a["value"] == pytest.approx(b["value"], rel=1e-6)  # float32 vectors


@pytest.mark.slow
def test_what_needs_saying_is_said_on_stderr(once: Run) -> None:
    done = once("misp", "--centre", "--details")
    assert re.search(r"^note: these components hold 22% of the difference", done.err, re.M)
    assert re.search(r"^note: the sign of g3 is noise", done.err, re.M)
    assert "note:" not in done.out
    assert "these components hold" not in once("misp").err


@pytest.mark.parametrize(
    ("suffix", "method"),
    [(".safetensors", ()), (".txt", ("--mhd",)), (".bin", ("--weights", "perm:4321"))],
)
def test_what_is_written_is_the_debiased_embedding(
    cli: Run, vocab: Path, tmp_path: Path, suffix: str, method: tuple[str, ...]
) -> None:
    small, path = stand_ins.small(), tmp_path / f"out{suffix}"
    small.save(tmp_path / "in.safetensors")
    done = cli("misp", tmp_path / "in.safetensors", "--vocab", vocab, "-o", path, *method)
    assert done.code == 0
    assert f"Written: {path}" in done.out.replace("\n", " ")
    options: dict[str, Any] = {"hard": "--mhd" in method}
    if "--weights" in method:
        options["weights"] = method[1]
    expected = fit(small, **options).subspace.remove(
        small.vectors.astype(float), **({"hard": True} if options["hard"] else {})
    )
    got = wb.load(path)
    assert list(got) == list(small)
    length = np.linalg.norm(small.vectors.astype(float), axis=1)
    off = np.linalg.norm(got.vectors - expected, axis=1)
    assert (off <= 2 * (small.dim + 4) * 2**-24 * length).all()  # float32, sums of d + k terms


@pytest.mark.slow
def test_a_file_gives_what_the_sample_gives(
    cli: Run, found: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "sample.txt"
    Embedding.sample().save(path)
    streamed = found(path, "-o", tmp_path / "out.txt")["rows"]
    assert streamed == found(path)["rows"] == found()["rows"]


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ("nowhere.txt", 1, "nowhere.txt"),
        ("--vocab nowhere.txt", 1, "nowhere.txt"),
        ("--vocab empty.txt", 1, "expected at least one word, found none"),
        ("--vocab absent.txt", 1, "0 of 2 words found (at least 2 needed)"),
        ("--groups nowhere.toml", 1, "nowhere.toml"),
        ("--groups one.toml", 1, "expected two groups or more, found 1 (young)"),
        (
            "--groups few.toml",
            1,
            "the differences of 2 and 2 vectors span 3 of 100 dimensions; take 1 to 3 (dims), or",
        ),
        ("--dims 101", 1, "101 components cannot be fitted: the vectors have 100 dimensions"),
        ("--weights 0.5 -o out.txt", 1, "expected 4 weights, one a component, got 1"),
        ("--weights much", 1, "'much': expected variance, numbers"),
        ("--weights perm:1", 1, "expected each of the digits 1 to 4 once"),
        ("--weights 2,0,0,0", 1, "weights must lie in [0, 1]"),
        ("--mhd --weights 1,1,1,1", 2, "--mhd removes the components completely"),
        ("-o no/such/folder/out.txt", 1, "no/such/folder"),
        ("-o x.json", 1, "vectors are not written as .json; expected one of .txt, .vec"),
        ("-o x.csv.gz", 1, "vectors are not written as .csv; expected"),
        ("-o x.parquet", 1, "vectors are not written as .parquet; expected"),
        ("-o x.npy", 1, "vectors are not written as .npy; expected"),
    ],
)
def test_a_failure_is_one_line_and_writes_nothing(
    cli: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "empty.txt": "",
        "absent.txt": "zzyzxq\nqqqqzz\n",
        "one.toml": '[groups]\nyoung = ["young", "youth"]\n',
        "few.toml": '[groups]\nyoung = ["young", "youth"]\nold = ["old", "aged"]\n',
    }.items():
        Path(name).write_text(text)
    before = set(tmp_path.iterdir())
    done = cli("misp", *typed.split())
    lines = [line for line in done.err.splitlines() if not line.startswith("note:")]
    assert (done.code, done.out, len(lines)) == (code, "", 1)
    assert lines[0].startswith("wordbias: ")
    assert message in lines[0]
    assert "unexpected" not in lines[0]
    assert set(tmp_path.iterdir()) == before


def test_a_name_without_a_suffix_of_something_else_is_written(
    cli: Run, vocab: Path, tmp_path: Path
) -> None:
    stand_ins.small().save(tmp_path / "in.safetensors")
    call = ("misp", tmp_path / "in.safetensors", "--vocab", vocab, "--no-chance", "-o")
    for name in ("plain", "glove.300d"):
        assert cli(*call, tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 1000


@pytest.mark.slow
def test_a_name_of_broken_bytes_passes_through_every_format(
    cli: Run, vocab: Path, tmp_path: Path
) -> None:
    path = tmp_path / "caf\udce9.toml"
    try:
        path.write_text(AGE, encoding="utf-8")
    except (OSError, UnicodeError):
        pytest.skip("this file system refuses names that are no UTF-8")
    for to in ("table", "json", "jsonl", "csv", "md", "latex"):
        given = ("--groups", path, "--vocab", vocab, "--dims", 2)
        done = cli("misp", *given, "--format", to, "-q")
        assert (done.code, done.err) == (0, ""), to


def test_what_was_removed_stands_beside_the_weight(found: Callable[..., Any]) -> None:
    rows = found("--weights", "perm:2134")["rows"]
    found = [(row["value"], row["removed"]) for row in rows if "removed" in row]
    weights = [weight for weight, _ in found]
    assert [removed for _, removed in found] == [weights[i] for i in (1, 0, 2, 3)]


@pytest.mark.slow
def test_missing_words_are_not_silent(cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "few.toml"
    path.write_text(
        '[groups]\na = ["she", "her", "zzqx", "zzqy", "zzqz", "zzqw"]\nb = ["he", "him", "his"]\n',
        encoding="utf-8",
    )
    done = cli("misp", "--groups", path, "--dims", "1")
    assert "group a: only 2 of 6 words found (missing: zzqx, zzqy, zzqz" in done.err
    assert "group b" not in done.err  # all of its words were found


@pytest.mark.slow
def test_random_removals_stand_beside_misp(
    cli: Run, found: Callable[..., dict[str, Any]], vocab: Path
) -> None:
    alone, with_draws = found("--no-chance"), found("--no-chance", "--null", 9)
    assert [
        {key: value for key, value in row.items() if not key.startswith(("change", "null"))}
        for row in with_draws["rows"]
    ] == alone["rows"]
    rows = [row for row in with_draws["rows"] if "null" in row]
    assert {row["null_draws"] for row in rows} == {9}
    before = {row["measure"]: row["value"] for row in alone["rows"] if row.get("stage") == "before"}
    for row in rows:
        if row["measure"] in before:
            assert row["change"] == pytest.approx(row["value"] - before[row["measure"]])
        for null in ("null", "null_as_far", "null_covariance"):
            assert row[f"{null}_p"] == pytest.approx((10 - row[f"{null}_less"]) / 10)
            assert row[f"{null}_low"] <= row[null] <= row[f"{null}_high"]
    # along the subspace that is removed, no random removal of as much changes more
    (fell,) = (r for r in rows if (r["measure"], r.get("reference")) == ("midb-rms", "before"))
    assert (fell["null_less"], fell["change"] < fell["null_low"]) == (9, True)
    table = cli("misp", "--vocab", vocab, "--null", 9, "--mhd", "-q")
    assert "Change, compared with 9 random removals of each kind" in table.out
    assert "change weights p as far p covariance p" in " ".join(table.out.split())
    assert max(map(len, table.out.splitlines())) <= 100
    outcome = cli("misp", "--vocab", vocab, "--null", 1, "--seed-lists", 1, "--no-chance", "-q")
    assert outcome.code == 0, outcome.err  # one draw has no interval
    assert "compared with 1 random removal of each kind" in outcome.out


@pytest.mark.slow
def test_redrawn_lists_add_intervals_of_before_after_and_the_change(
    cli: Run, found: Callable[..., dict[str, Any]], vocab: Path
) -> None:
    alone, drawn = found("--no-chance"), found("--no-chance", "--seed-lists", 5)
    own = ("lists", "change_lists", "unseen", "change")
    assert [
        {key: value for key, value in row.items() if not key.startswith(own)}
        for row in drawn["rows"]
    ] == alone["rows"]
    rows = [row for row in drawn["rows"] if "lists_draws" in row]
    assert {row["lists_draws"] for row in rows} == {5}
    (fell,) = (r for r in rows if (r["measure"], r.get("reference")) == ("midb-rms", "before"))
    assert fell["change_lists_low"] < fell["change_lists_high"] < 0
    assert fell["unseen_low"] < fell["unseen_change"] < fell["unseen_high"] < 0
    # the interval before is that of measure, from the same redraws
    measured = cli(
        *("measure", "--only", "midb,direct-bias", "--no-chance", "--seed-lists", 5),
        *("--vocab", vocab, "--format", "json"),
    )
    assert measured.code == 0, measured.err
    expected = {
        row["measure"]: (row["lists_low"], row["lists_high"])
        for row in json.loads(measured.out)["rows"]
    }
    before = {
        row["measure"]: (row["lists_low"], row["lists_high"])
        for row in rows
        if row["stage"] == "before"
    }
    assert set(before) == set(expected)
    for name, ends in before.items():
        assert ends == pytest.approx(expected[name], rel=1e-5, abs=1e-6)
    table = cli("misp", "--vocab", vocab, "--seed-lists", 5, "-q")
    assert "Fitted to other word lists: middle 95 % of 5 redraws" in table.out
    assert "Along the names that a redraw left out" in table.out
    assert max(map(len, table.out.splitlines())) <= 100


@pytest.mark.slow
def test_redraws_without_a_subspace_are_counted_in_a_note(
    cli: Run, vocab: Path, tmp_path: Path
) -> None:
    groups, file = tmp_path / "groups.toml", tmp_path / "few.safetensors"
    stand_ins.small().save(file)
    words = '[groups]\na = ["he", "man", "{}"]\nb = ["she", "woman", "{}"]\n'
    for others, dims in ((("boy", "girl"), 4), (("qzqz", "zqzq"), 1)):
        groups.write_text(words.format(*others))
        call = ["misp", file, "--groups", groups, "--dims", dims, "--no-chance"]
        done = cli(*call, "--seed-lists", 12, "--vocab", vocab, "--format", "json")
        assert done.code == 0, done.err
        rows = [row for row in json.loads(done.out)["rows"] if row["measure"] == "midb-rms"]
        fitted = {row.get("lists_draws", 0) for row in rows}
        assert len(fitted) == 1
        left_out = 12 - fitted.pop()
        assert left_out > 0
        assert (
            f"note: --seed-lists: {left_out} of 12 redraws left out, in which too few" in done.err
        )
    given = cli("misp", file, "--vocab", vocab, "--dims", 1, "--no-chance", "--seed-lists", 2)
    assert "left out, in which" not in given.err
