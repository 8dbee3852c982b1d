"""`wordbias measure`: its options, its formats, several embeddings at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import Attribute, Embedding
from wordbias.devices import blas_threads
from wordbias.errors import UsageError
from wordbias.measures import direct_bias, midb
from wordbias.measures.clustering import clustering
from wordbias.measures.midb import MIDB
from wordbias.measures.registry import STANDARD
from wordbias.subspace import Subspace

Run = Callable[..., Any]

AGE = """
name = "age"
[groups]
young = ["young", "youth", "teenager", "kid", "junior", "child"]
old = ["old", "elderly", "retired", "senior", "aged"]
[pairs]
definitional = [["young", "old"], ["junior", "senior"]]
"""
WORDS = ["doctor", "nurse", "engineer", "teacher", "boss", "maid", "table", "water"]
MEASURES = {
    "midb": {*MIDB},
    "direct-bias": {"direct-bias", "direct-bias-pca"},
    "clustering": {"clustering-accuracy", "clustering-v"},
    "recoverability": {
        f"recoverability-{name}" for name in ("linear-svm", "rbf-svm", "logistic", "mlp")
    },
    "sembias": {"sembias-definition", "sembias-none", "sembias-stereotype"},
    "gipe": {"gipe"},
}
LINEAR = "midb,direct-bias,sembias,gipe"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fewer restarts of k-means, and no threads that wait for each other on a busy machine."""
    for name in ("seeds", "n_init"):
        monkeypatch.setitem(clustering.__kwdefaults__, name, 2)  # type: ignore[arg-type]
    with blas_threads(1):
        yield


@pytest.fixture(scope="module")
def few() -> Embedding:
    """The frequent words of the sample, and those that gender needs."""
    sample, gender = Embedding.sample(), Attribute.load()
    listed = [word.lower() for words in gender.members for word in words]
    listed += [word.lower() for pair in gender.pairs for word in pair]
    age = re.findall(r'"(\w+)"', AGE)
    return sample.subset([*sample.words[:4000], *listed, *WORDS, *age])


@pytest.fixture
def saved(few: Embedding, tmp_path: Path) -> Callable[..., Path]:
    """Write the few words, with these vectors, under a name."""

    def call(name: str, vectors: Any = None, words: Any = None) -> Path:
        emb = few if words is None else few.subset(words)
        (emb if vectors is None else emb.with_vectors(vectors)).save(tmp_path / name)
        return tmp_path / name

    return call


@pytest.fixture(scope="module")
def inputs(few: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files that are only read: embedding, vocabulary, groups, questions."""
    folder = tmp_path_factory.mktemp("measure")
    few.save(folder / "few.safetensors")
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    (folder / "age.toml").write_text(AGE, encoding="utf-8")
    return folder


@pytest.fixture
def file(inputs: Path) -> Path:
    return inputs / "few.safetensors"


@pytest.fixture
def vocab(inputs: Path) -> Path:
    return inputs / "words.txt"


@pytest.fixture
def age(inputs: Path) -> Path:
    return inputs / "age.toml"


@pytest.fixture
def questions(tmp_path: Path, few: Embedding) -> Path:
    """60 questions as the published test set has them, of words that are here."""
    words = [word for word in few.words[300:2500] if word.isalpha()]
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        drawn = rng.choice(words, 6, replace=False).tolist()
        pairs = [("man", "woman"), *zip(drawn[::2], drawn[1::2], strict=True)]
        lines.append("\t".join(":".join(pair) for pair in pairs))
    path = tmp_path / "SemBias"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def found(cli: Run) -> Callable[..., dict[str, Any]]:
    """Run and return the parsed JSON."""

    def call(*arguments: object) -> dict[str, Any]:
        done = cli("measure", "--format", "json", "--quiet", *arguments)
        assert (done.code, done.err) == (0, "")
        result: dict[str, Any] = json.loads(done.out)
        return result

    return call


@pytest.fixture
def rows(found: Callable[..., Any]) -> Callable[..., list[dict[str, Any]]]:
    return lambda *arguments: found(*arguments)["rows"]


def _values(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], Any]:
    keys = ("subject", "measure", "set", "setting", "word")
    values = {tuple(row.get(key) for key in keys): row["value"] for row in rows}
    assert len(values) == len(rows)
    return values


def test_without_an_embedding_it_runs_on_the_sample(found: Callable[..., Any]) -> None:
    result = found("--only", "direct-bias", "--no-chance")
    assert list(result["inputs"]) == ["sample"]
    assert result["command"] == "measure"
    assert {row["n"] for row in result["rows"]} == {20_461}
    assert _values(result["rows"])["sample", "direct-bias", None, "c=1", None] == pytest.approx(
        0.096, abs=5e-4
    )


@pytest.mark.slow
def test_all_families_are_measured_by_default(rows: Run, file: Path, questions: Path) -> None:
    got = rows(file, "--sembias", questions)
    assert {row["measure"] for row in got} == set().union(*MEASURES.values())
    order = [next(f for f in STANDARD if row["measure"] in MEASURES[f]) for row in got]
    assert list(dict.fromkeys(order)) == list(STANDARD)
    for row in got:
        if row["value"] is None:
            assert row["reason"].startswith("undefined: ")
        else:
            assert row["low"] <= row["value"] <= row["high"]


def test_the_values_are_those_of_the_functions(rows: Run, file: Path, vocab: Path) -> None:
    got = {
        row["measure"]: row for row in rows(file, "--vocab", vocab, "--only", "midb,direct-bias")
    }
    with wb.config(cache=False):
        emb, gender = wb.load(file), Attribute.load()
    x = emb.take(WORDS)
    groups = [emb.take([word.lower() for word in group]) for group in gender.members]
    raw = midb(x, Subspace.from_groups(*groups, 4))
    for name, value in zip(("midb", "midb-abs", "midb-rms"), raw, strict=True):
        assert got[name]["value"] == pytest.approx(value, abs=1e-13)
    delta = emb["she"].astype(float) - emb["he"]
    assert got["direct-bias"]["value"] == pytest.approx(direct_bias(x, delta), abs=1e-13)
    assert {row["n"] for row in got.values()} == {len(WORDS)}


@pytest.mark.slow
def test_recoverability_of_the_sample(rows: Run) -> None:
    got = rows("--only", "recoverability")
    assert {row["measure"] for row in got} == MEASURES["recoverability"]
    assert {(row["n"], row["neutral"], row["better"]) for row in got} == {(4000, 0.5, "lower")}
    assert all(row["value"] > 0.95 for row in got)  # Table 6: 1.000 of GloVe


@pytest.mark.slow
def test_several_embeddings_are_one_table_for_a_paper_and_more_on_a_terminal(
    cli: Run, saved: Callable[..., Path]
) -> None:
    names = ("one", "two", "three", "four", "five", "six", "seven")
    files = [saved(f"{name}.txt") for name in names]
    options = ("--only", "direct-bias", "--no-chance")
    tables = {to: cli("measure", *files, *options, "--format", to).out for to in ("latex", "table")}
    assert tables["latex"].count("\\begin{tabular}{lrrrrrrrr}") == 1
    assert f" & {' & '.join(names)} & ideal" in tables["latex"]
    assert str(files[0].parent) not in tables["latex"]
    assert tables["table"].count("\nBias, with the 95 % interval over words") == 2


def test_embeddings_of_several_formats_share_one_vocabulary(
    found: Run, saved: Callable[..., Path], few: Embedding, questions: Path
) -> None:
    """The same vectors in another order and format, with words the others do not have."""
    gender = Attribute.load()
    needed = {w.lower() for words in (*gender.members, *gender.pairs) for w in words}
    known = [word for i, word in enumerate(few.words) if i < 700 or word in needed]
    subset = [word for i, word in enumerate(known) if i % 7 or word in needed]
    files = [
        saved("one.txt", words=known),
        saved("two.bin", words=subset[::-1]),
        saved("three.vec", words=known),
        saved("four.safetensors", words=known),
    ]
    result = found(*files, "--only", "midb,direct-bias")
    assert list(result["inputs"]) == ["one", "two", "three", "four"]
    assert {facts["words"] for facts in result["inputs"].values()} == {len(known), len(subset)}
    by_subject: dict[str, list[Any]] = {}
    for row in result["rows"]:
        by_subject.setdefault(row["subject"], []).append((row["measure"], row["value"], row["n"]))
    assert list(by_subject) == ["one", "two", "three", "four"]
    assert by_subject["one"] == by_subject["three"] == by_subject["four"]
    assert len({n for rows in by_subject.values() for _, _, n in rows}) == 1
    for a, b in zip(by_subject["one"], by_subject["two"], strict=True):
        assert a[0] == b[0]
        assert a[1] == pytest.approx(b[1], abs=1e-12)
    alone = {row["n"] for row in found(files[0], "--only", "direct-bias")["rows"]}
    assert min(alone) > by_subject["one"][0][2]


def test_an_embedding_beside_others_has_its_own_direction(
    rows: Run, saved: Callable[..., Path], few: Embedding, vocab: Path
) -> None:
    turned = np.roll(few.vectors, 3, axis=1)
    options = ("--vocab", vocab, "--only", "direct-bias")
    got = rows(saved("one.bin"), saved("two.bin", turned), *options)
    values = _values(got)
    for name in MEASURES["direct-bias"]:
        first, two = (values[subject, name, None, "c=1", None] for subject in ("one", "two"))
        assert first == pytest.approx(two, abs=1e-12)


@pytest.mark.slow
def test_the_original_gives_labels_and_proximities(
    rows: Run, file: Path, saved: Callable[..., Path], few: Embedding
) -> None:
    g = Subspace.from_direction(few["she"].astype(float) - few["he"])
    after = saved("after.safetensors", g.remove(few.vectors.astype(float), hard=True))
    options = ("--only", "clustering,gipe", "--no-chance")
    with_original = rows(after, "--original", file, *options)
    assert {row["original"] for row in with_original} == {"few"}
    assert all(row["value"] is not None for row in with_original)
    alone = rows(after, *options)
    assert {row["original"] for row in alone} == {"self"}
    assert all(row["value"] is None for row in alone)  # she − he is gone
    before = _values(rows(file, *options))
    values = _values(with_original)
    for theta in ("θ=0.03", "θ=0.05", "θ=0.07"):
        assert values["after", "gipe", None, theta, None] < before["few", "gipe", None, theta, None]
    assert len({value for key, value in values.items() if key[1] == "gipe"}) == 3


def test_the_original_is_among_the_inputs(found: Run, file: Path, saved: Run, vocab: Path) -> None:
    other = saved("after.txt")
    result = found(other, "--original", file, "--vocab", vocab, "--only", "direct-bias")
    assert list(result["inputs"]) == ["after", "original: few"]
    assert result["inputs"]["original: few"]["path"] == str(file)
    assert re.fullmatch("[0-9a-f]{64}", result["inputs"]["original: few"]["sha256"])


@pytest.mark.slow
def test_a_direction_from_a_file(
    rows: Run, cli: Run, file: Path, few: Embedding, tmp_path: Path
) -> None:
    path = tmp_path / "g.safetensors"
    Subspace.from_direction(few["she"].astype(float) - few["he"]).save(path)
    options = (file, "--only", "clustering,gipe", "--no-chance", "--direction")
    assert _values(rows(*options, path)) == _values(rows(*options, "she-he"))
    Subspace.from_direction(np.ones(7)).save(path)
    done = cli("measure", *options, path)
    assert done.code == 1
    assert "the subspace has 7 dimensions, few has 100" in done.err


@pytest.mark.slow
def test_dims_and_centring_are_those_of_names(rows: Run, file: Path, vocab: Path) -> None:
    options = (file, "--vocab", vocab, "--only", "midb", "--dims", 2)
    centred, uncentred = rows(*options, "--centre"), rows(*options)
    assert centred == rows(*options, "--as-published")
    assert {row["centred"] for row in centred} == {True}
    assert {row["centred"] for row in uncentred} == {False}
    assert {row["setting"] for row in centred} == {"d=2, centred"}
    assert {row["setting"] for row in uncentred} == {"d=2, not centred"}
    assert centred[2]["value"] < uncentred[2]["value"]
    (row, *_) = rows(file, "--direction", "subspace", "--dims", 2, "--only", "gipe")
    assert row["direction"] == "2 components of differences, not centred"


def test_single_words_come_alone(rows: Run, file: Path, few: Embedding) -> None:
    *got, lean_told = rows(file, "--words", "nurse, doctor,")
    assert lean_told["measure"] == "lean-told"  # of all words of pairs
    assert "word" not in lean_told
    assert [(row["measure"], row["word"]) for row in got] == [
        (measure, word)
        for measure in ("lean", "midb", "direct-bias")
        for word in ("nurse", "doctor")
    ]
    delta = few["she"].astype(float) - few["he"]
    for row in got[4:]:
        x = few[row["word"]].astype(float)
        cosine = x @ delta / np.linalg.norm(x) / np.linalg.norm(delta)
        assert row["value"] == pytest.approx(cosine, abs=1e-13)
        assert "towards" not in row


def test_of_single_words_no_lean_is_claimed_as_published(cli: Run, file: Path) -> None:
    for option in ("--as-published", "--centre"):
        done = cli("measure", file, "--words", "she,he,jessica,nurse", option)
        assert "no lean is claimed: centred differences describe how words vary" in done.out
        assert not re.search(r"\b(female|male)\b", done.out.partition("Words of")[2])
        assert "told" not in done.out


def _sides(out: str) -> dict[str, str]:
    """Read the column `leans to` of the table of words."""
    lines = out.partition("Words of")[2].splitlines()[1:]
    start = lines[0].index("leans to")
    end = start + len("leans to")
    words = [line for line in lines[1:] if re.match(r"  \w+ +-?\d\.\d{3} ", line)]
    return {line.split()[0]: line[start:end].strip() for line in words}


@pytest.mark.slow
def test_the_words_of_the_sample_are_labelled_rightly(cli: Run) -> None:
    out = cli("measure", "--words", "she,he,jessica,nurse").out
    assert "positive leans" not in out
    assert _sides(out) == {"she": "female", "he": "", "jessica": "female", "nurse": "female"}
    text = " ".join(out.split())
    assert "Blank: no side is named, because the lean lies between" in text  # why he has no side
    assert "(the middle 95 % of the original's neutral words), or its interval includes 0" in text
    assert re.search(r"\d+ are told right \(\d+%\), 0 wrong, \d+ not told", text)


@pytest.mark.slow
def test_measure_says_of_components_what_misp_says(cli: Run, vocab: Path) -> None:
    for option in ((), ("--centre",)):
        more = ("--vocab", vocab, "--no-chance", *option)
        notes = [
            cli(*command, *more).err
            for command in (("misp", "--details"), ("measure", "--only", "midb"))
        ]
        assert notes[0] == notes[1] != ""
        brief = cli("misp", *more).err  # without --details no note on noisy signs
        noisy = "is noise (bootstrap stability below"
        assert brief.splitlines() == [line for line in notes[0].splitlines() if noisy not in line]
    assert "note:" not in cli("measure", "--only", "direct-bias", "--no-chance").err
    assert "these components hold 22%" in cli("measure", "--words", "nurse", "--centre").err


def test_chance_stands_beside_each_value_and_can_be_left_out(rows: Run, file: Path) -> None:
    options = (file, "--only", "midb,direct-bias")
    for row in rows(*options):
        assert row["chance_low"] <= row["chance"] <= row["chance_high"]
        outside = row["value"] > row["chance_high"]
        outside |= row["value"] < row["chance_low"] and row["better"] != "lower"
        assert row["beyond_chance"] is outside
    assert not any("chance" in row for row in rows(*options, "--no-chance"))


@pytest.mark.slow
def test_single_words_and_families_together(rows: Run, file: Path) -> None:
    got = rows(file, "--words", "nurse", "--only", "direct-bias")
    assert [row.get("word") for row in got] == [None, None, *["nurse"] * 3, None]
    assert got[-1]["measure"] == "lean-told"


def test_missing_words_are_not_silent(cli: Run, file: Path, tmp_path: Path) -> None:
    vocab = tmp_path / "own.txt"
    vocab.write_text("\n".join([*WORDS, "zzyzxq"]), encoding="utf-8")
    done = cli("measure", file, "--vocab", vocab, "--words", "nurse,zzyzxr")
    assert done.code == 0
    assert "zzyzxr" in done.out + done.err
    assert "8 of 9" in done.out + done.err or "zzyzxq" in done.out + done.err


@pytest.mark.slow
def test_extremes_are_those_of_the_vocabulary(rows: Run, file: Path, vocab: Path) -> None:
    got = [row for row in rows(file, "--extremes", 3, "--vocab", vocab) if row["measure"] == "lean"]
    words = rows(file, "--words", ",".join(WORDS), "--vocab", vocab)
    values = sorted(row["value"] for row in words if row["measure"] == "lean")
    first, second = got[:3], got[3:]
    assert [row["value"] for row in first] == pytest.approx(values[::-1][:3], abs=1e-14)
    assert [row["value"] for row in second] == pytest.approx(values[:3], abs=1e-14)


def test_a_word_that_is_an_extreme_as_well_has_one_row(rows: Run, file: Path, vocab: Path) -> None:
    _values(rows(file, "--vocab", vocab, "--extremes", 2, "--words", ",".join(WORDS)))


@pytest.mark.slow
def test_another_attribute(rows: Run, cli: Run, file: Path, age: Path) -> None:
    got = rows(file, "--groups", age, "--dims", 2, "--only", "midb,direct-bias,gipe")
    assert {row["direction"] for row in got if "direction" in row} == {"young−old"}
    done = cli("measure", file, "--groups", age, "--words", "nurse", "--dims", 2)
    assert "Blank: no side is named, because the lean lies between" in " ".join(done.out.split())
    assert _sides(done.out) == {"nurse": ""}
    outcome = cli(
        "measure", file, "--groups", age, "--words", "nurse,youth,maintained", "--dims", 2
    )
    assert _sides(outcome.out) == {"youth": "young", "nurse": "", "maintained": "old"}
    assert not re.search(r"\b(she|he|female|male|gender)\b", done.out)


@pytest.mark.slow
def test_the_table_of_two_has_a_line_a_measure(
    cli: Run, saved: Run, few: Embedding, questions: Path
) -> None:
    """Also where one of them has no direction."""
    g = Subspace.from_direction(few["she"].astype(float) - few["he"])
    gone = saved("gone.bin", g.remove(few.vectors.astype(float), hard=True))
    done = cli("measure", saved("full.bin"), gone, "--sembias", questions, "--only", LINEAR)
    table, _, by_chance = done.out.partition("\nBy chance\n")
    assert re.search(r"SemBias, none \(all\) .* \d\.\d{3} \(", by_chance)
    lines = [line for line in table.splitlines() if re.match("  (SemBias|GIPE|direct)", line)]
    assert len(lines) == len({re.split("  +", line.strip())[0] for line in lines}) == 2 + 6 + 3
    for line in lines:
        if "direct bias (PCA)" not in line:
            assert line.count("–") == 1
        assert re.search(" (0|0.5|lower|higher)$", line)


@pytest.mark.slow
def test_one_thread_and_two_agree(rows: Run, file: Path, questions: Path) -> None:
    call = (file, "--only", LINEAR, "--sembias", questions, "--no-chance")
    single, two = (rows(*call, "--threads", n) for n in (1, 2))
    for a, b in zip(single, two, strict=True):
        assert a["value"] == pytest.approx(b["value"], abs=1e-12)


@pytest.mark.slow
def test_a_rotation_without_rounding_changes_no_deterministic_measure(
    rows: Run, saved: Run, few: Embedding, questions: Path
) -> None:
    """Coordinates change place and sign; a few of 200,000 pairs of GIPE may be rounded at θ."""
    rng = np.random.default_rng(0)
    turned = few.vectors[:, rng.permutation(100)] * rng.choice([-1, 1], 100).astype(np.float32)
    options = ("--only", LINEAR, "--sembias", questions, "--no-chance")
    before = _values(rows(saved("few.bin"), *options))
    after = _values(rows(saved("few.bin", turned), *options))
    for key, value in before.items():
        assert after[key] == pytest.approx(value, abs=1e-4 if key[1] == "gipe" else 1e-12)


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        ("FEW --original nowhere.txt", 1, "nowhere.txt"),
        ("FEW --vocab nowhere.txt", 1, "nowhere.txt"),
        ("FEW --groups nowhere.toml", 1, "nowhere.toml"),
        ("FEW --sembias nowhere.tsv", 1, "nowhere.tsv: cannot be read as SemBias"),
        ("FEW --sembias SemBias", 1, "SemBias: line 2: expected four tab-separated pairs a:b"),
        ("FEW --direction she_he --only gipe", 1, "'she_he': expected she-he, axis, pca"),
        ("FEW --only wheat", 2, "measure 'wheat': expected one of midb, direct-bias"),
        ("FEW --only ,", 2, "--only"),
        ("FEW --words ,", 2, "--words"),
        ("FEW --words zzyzxq", 1, "few: --words: 0 of 1 words found"),
        ("FEW --extremes 100000", 1, "100000 words a side needed"),
        ("FEW other/few.txt", 1, "two embeddings are called 'few'; rename one of the files"),
        ("one.bin two.bin", 1, "one, two: 0 neutral words among the first 50000 of 0 common words"),
        ("--only midb --direction pca", 2, "--direction is for clustering, recoverability, semb"),
        ("--only gipe --dims 2", 2, "--dims is for midb, --words and --direction=subspace, but on"),
        ("--only direct-bias --centre", 2, "--centre is for midb, --words and --direction=subsp"),
        ("--only midb --sembias x", 2, "--sembias is for sembias, but only midb is measured"),
        ("--words nurse --direction pca", 2, "but only single words is measured"),
        ("nowhere.txt", 1, "nowhere.txt"),
        ("nowhere.txt --sembias other", 1, "other: cannot be read as SemBias"),  # first
        ("nowhere.txt --vocab other", 1, "other: "),
    ],
)
def test_a_failure_is_one_line(
    cli: Run,
    file: Path,
    few: Embedding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("SemBias").write_text("man:woman\ta:b\tc:d\te:f\na:b\tc:d\n")
    Path("other").mkdir()
    for name, words in (("one.bin", (500, 600)), ("two.bin", (900, 1000)), ("other/few.txt", (9,))):
        few.subset(few.words[slice(*words)]).save(name)
    done = cli("measure", *(file if word == "FEW" else word for word in typed.split()))
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)
    assert done.err.startswith("wordbias: ")
    assert message in done.err
    assert "unexpected" not in done.err


def test_too_many_components_have_a_reason(rows: Run, file: Path) -> None:
    got = rows(file, "--dims", "101", "--only", "midb")
    assert {row["value"] for row in got} == {None}
    assert all("101 components cannot be fitted" in row["reason"] for row in got)


@pytest.mark.slow
def test_redrawn_word_lists_add_intervals_and_change_nothing_else(
    cli: Run, file: Path, tmp_path: Path
) -> None:
    clean = tmp_path / "clean.safetensors"
    assert cli("misp", file, "-o", clean, "--no-chance", "-q").code == 0
    call = ("measure", file, clean, "--only", "midb,direct-bias,same,weat", "--no-chance", "-q")
    alone = cli(*call, "--format", "json")
    done = cli(*call, "--seed-lists", 6, "--format", "json")
    assert (done.code, alone.code) == (0, 0), done.err
    rows = json.loads(done.out)["rows"]
    own = ("lists", "change")
    assert [
        {key: value for key, value in row.items() if not key.startswith(own)} for row in rows
    ] == json.loads(alone.out)["rows"]
    first = rows[0]["subject"]
    for row in rows:
        if row["measure"] == "weat":
            assert "lists_draws" not in row
            continue
        assert row["lists_draws"] == 6
        assert row["lists_low"] < row["lists_high"]
        assert ("change_from" in row) == (row["subject"] != first)
    table = cli(*call, "--seed-lists", 6)
    assert "95 % interval over word lists, 6 redraws" in table.out
    assert f"less {first}" in table.out
    assert max(map(len, table.out.splitlines())) <= 100

    # along the original's direction too, of which the lists are drawn again
    before = ("measure", clean, "--original", file, "--no-chance", "-q", "--format", "json")
    rows = json.loads(cli(*before, "--only", "same,clustering", "--seed-lists", 3).out)["rows"]
    drawn = {row["measure"].split("-")[0] for row in rows if "lists_draws" in row}
    assert drawn == {"same", "clustering"}

    for only, message in (("weat", "but only weat is measured"), ("midb", "--seed-lists")):
        number = 0 if only == "midb" else 5
        refused = cli("measure", file, "--only", only, "--seed-lists", number)
        assert (refused.code, message in refused.err) == (2, True)


@pytest.mark.slow
def test_the_most_biased_words_by_projection_are_those_of_the_longest_vectors(
    tmp_path: Path,
) -> None:
    """And nothing but clustering and recoverability depends on it."""
    sample = Embedding.sample()
    names = {name.lower() for members in Attribute.load().members for name in members}
    near = sample.subset([w for i, w in enumerate(sample.words) if i < 4000 or w in names])
    lengths = np.exp(np.random.default_rng(0).normal(size=len(near)))[:, None]
    lengths[[near.index["she"], near.index["he"]]] = 1  # the direction stays
    scaled = near.with_vectors(near.vectors * lengths, "scaled")
    path, vocab = tmp_path / "scaled.safetensors", tmp_path / "words.txt"
    scaled.save(path)
    words = [word for word in scaled.words if word.isalpha()]
    vocab.write_text("\n".join(words))

    def values(only: str, **options: bool) -> dict[Any, float]:
        report = wb.measure(path, vocab=vocab, chance=False, only=only.split(","), **options)
        return {(row.measure, row.details.get("setting")): row.value or 0.0 for row in report}

    cosine = values("direct-bias,clustering")
    projected = values("direct-bias,clustering", by_projection=True)
    x = scaled.take(words)
    order = np.argsort(-(x.astype(float) @ (scaled["she"].astype(float) - scaled["he"])))
    chosen = np.concatenate([order[:750], order[::-1][:750]])
    expected = clustering(x[chosen], np.repeat([True, False], 750), seed=0).accuracy.mean()
    key = ("clustering-accuracy", None)
    assert projected[key] == pytest.approx(expected)
    assert projected[key] != cosine[key]
    other = {key for key in cosine if not key[0].startswith("clustering")}
    assert {key: projected[key] for key in other} == {key: cosine[key] for key in other}

    every = "midb,clustering,gipe"
    options = dict.fromkeys(("isolated_zero", "centre", "by_projection"), True)
    assert values(every, **options) == values(every, as_published=True)


def test_parameters_of_one_measure_are_refused_for_others() -> None:
    with pytest.raises(UsageError, match="isolated_zero=True is for gipe, but only midb"):
        wb.measure(only=["midb"], isolated_zero=True)
    with pytest.raises(UsageError, match="by_projection=True is for clustering and recoverability"):
        wb.measure(only=["gipe"], by_projection=True)
