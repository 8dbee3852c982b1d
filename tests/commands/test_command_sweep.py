from __future__ import annotations

import csv
import io
import json
import string
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import small_word_lists

import wordbias as wb
from wordbias.cli import run
from wordbias.formats.files import locked
from wordbias.models.model_like import silent
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.settings import all_settings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.usefixtures("one_thread")

Cli = Callable[..., Any]
COLUMNS = [
    "context_id",
    "context",
    "next_sentence",
    "label",
    "gender",
    "gender_swapped_context",
    "gender_swapped_next_sentence",
]
LABELS = ["stereotype", "anti-stereotype", "unrelated"]
FOLLOWING = [
    ("She cooked.", "She drove.", "Tea is hot."),
    ("She was kind.", "She was stern.", "A car."),
    ("She ate a pie.", "She saw a cow.", "The bed is red."),
]
SNLI = [
    ("neutral", "The man ate.", "The man ate a pie."),
    ("entailment", "The nurse saw the car.", "The nurse saw a car."),
    ("contradiction", "The bed is red.", "The bed is blue."),
    ("entailment", "The driver ate a pie.", "The driver ate."),
]
WORDS = "the a an . she he her his him cooked drove was kind stern red blue tea is hot saw ate"
NUMBERS = ("strength", "distance", "parity", "accuracy", "fairness", "snli_accuracy")


def save(folder: Path, cls: str, seed: int, layers: int = 3, **options: Any) -> str:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    known = [word for pair in sentence_pairs() for text in pair for word in text.lower().split()]
    words = [*small_word_lists.words(), *WORDS.split()]
    tokens = dict.fromkeys([*special, *letters, *words, *(word.strip(".,") for word in known)])
    vocabulary = {token: i for i, token in enumerate(token for token in tokens if token)}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=64,
        initializer_range=0.5,  # else all sentences are alike
        **options,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = getattr(transformers, cls)(config)
    with silent(transformers):
        model.save_pretrained(folder)
        tokenizer = transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=64)
        tokenizer.save_pretrained(folder)
    return str(folder)


def swapped(text: str) -> str:
    words = {"She": "He", "she": "he", "woman": "man", "her": "his"}
    return " ".join(words.get(word, word) for word in text.split())


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return two models and the files of a sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    paths = {
        "nsp": save(folder / "nsp", "BertForNextSentencePrediction", 1),
        "nli": save(folder / "nli", "BertForSequenceClassification", 2, id2label=labels),
        "gsss": folder / "gsss.csv",
        "snli": folder / "snli.tsv",
        "text": folder / "text.txt",
        "lists": folder / "lists",
    }
    with paths["gsss"].open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for i, following in enumerate(FOLLOWING):
            context = f"The woman saw her {('hat', 'cow', 'cup')[i]}."
            for label, text in zip(LABELS, following, strict=True):
                both = [swapped(context), swapped(text)]
                writer.writerow([str(i), context, text, label, "F", *both])
    paths["snli"].write_text("".join("\t".join(row) + "\n" for row in SNLI))
    lines = [
        f"{who} {did}." for who in ("She", "The woman", "Her friend") for did in WORDS.split()[9:15]
    ]
    paths["text"].write_text("\n".join(lines) + "\n")
    small_word_lists.write(paths["lists"])
    return paths


def arguments(inputs: dict[str, Any], *more: Any) -> list[Any]:
    return [
        "sweep", inputs["nsp"], "--stereoset", inputs["gsss"], "--nli", inputs["nli"],
        "--snli", inputs["snli"], "--lists", inputs["lists"], "--top", "0.5,1", *more,
    ]  # fmt: skip


@dataclass(frozen=True)
class Swept:
    """What one run of the command wrote."""

    report: dict[str, Any]
    err: str
    output: Path
    plot: Path

    @property
    def table(self) -> list[dict[str, str]]:
        with self.output.open() as file:
            return list(csv.DictReader(file))

    @property
    def values(self) -> dict[tuple[str, ...], float]:
        """The values of its rows by measure and what else tells them apart."""
        keys = ("measure", "setting", "version", "parity")
        return {
            tuple(str(row.get(key, "")) for key in keys): row["value"]
            for row in self.report["rows"]
        }


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Any]) -> Swept:
    """Run the command once for several tests."""
    output = tmp_path_factory.mktemp("output") / "table7.csv"
    plot = output.with_suffix(".svg")
    given = arguments(inputs, "--sent-debias", inputs["text"], "-o", output, "--plot", plot)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in (*given, "--format", "json")])
    assert code == 0, err.getvalue()
    return Swept(json.loads(out.getvalue()), err.getvalue(), output, plot)


@pytest.mark.slow
def test_table_7_in_one_command(swept: Swept) -> None:
    table, values = swept.table, swept.values
    assert [row["level"] for row in table[:2]] == ["Base", "Sent-debias"]
    numbers = {(row["level"], row["settings (n11 c11 n12 c12 np)"]) for row in table[2:]}
    assert numbers == {
        (setting.level, " ".join(map(str, setting.numbers))) for setting in all_settings()
    }
    base = table[0]
    assert float(base["strength"]) == values["strength", "Base", "original", ""]
    assert float(base["parity"]) == values["nli-parity", "Base", "", "mean"]
    for row in table:
        x = {name: float(row[name]) for name in NUMBERS}
        assert x["fairness"] == pytest.approx(x["parity"] * x["accuracy"])
    assert len({row["distance"] for row in table}) > 70  # the settings do something
    assert swept.plot.read_text().startswith("<?xml")
    assert not list(swept.output.parent.glob("*.part"))
    fitted = swept.report["inputs"]["next-sentence"]["fitting"]
    assert fitted["pairs"] == len(sentence_pairs())
    assert any(
        note.startswith("the unmodified NLI model reaches") for note in swept.report["notes"]
    )


@pytest.mark.slow
def test_swaps_that_need_no_repair_give_the_same_repaired(swept: Swept) -> None:
    values = swept.values
    pairs = [(key, value) for key, value in values.items() if key[2] == "original"]
    assert len(pairs) == 76 * 4
    for key, value in pairs:
        assert values[(*key[:2], "repaired", key[3])] == value


@pytest.fixture(scope="module")
def adapters(inputs: dict[str, Any], swept: Swept) -> dict[str, Path]:
    """Return the adapters that `project` fits."""
    folder = swept.output.parent
    files = {name: folder / f"{name}.adapter" for name in ("nsp", "nli")}
    for name, adapter in files.items():
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert run(["project", inputs[name], "-o", str(adapter)]) == 0
    return files


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["L12-010", "attn-01100"])
def test_a_setting_has_what_the_other_commands_measure(
    cli: Cli, inputs: dict[str, Any], swept: Swept, adapters: dict[str, Path], setting: str
) -> None:
    """The adapters are those of `project`, the numbers those of `likelihood` and `mab-eval`."""
    level, _, digits = setting.partition("-")
    (row,) = (
        row
        for row in swept.table
        if (row["level"], row["settings (n11 c11 n12 c12 np)"]) == (level, " ".join(digits))
    )
    options = ["--setting", setting, "--format", "json"]
    common = [inputs["nsp"], "--data", inputs["gsss"], "--top", "0.5"]
    done = cli("likelihood", *common, "--adapter", adapters["nsp"], *options)
    values = {
        row["measure"]: row["value"]
        for row in json.loads(done.out)["rows"]
        if row["subject"].endswith(setting)
        and (row["subset"], row["version"]) == ("all", "original")
    }
    common = [inputs["nli"], "--snli", inputs["snli"], "--lists", inputs["lists"]]
    done = cli("mab-eval", "--set", "parity", *common, "--adapter", adapters["nli"], *options)
    values |= {
        row["measure"]: row["value"]
        for row in json.loads(done.out)["rows"]
        if row["setting"] == setting and row.get("parity", "mean") == "mean"
    }
    names = ("strength", "distance", "nli-parity", "nli-accuracy", "nli-fairness", "snli-accuracy")
    for name, measure in zip(NUMBERS, names, strict=True):
        assert float(row[name]) == pytest.approx(values[measure], abs=1e-5), name


@pytest.mark.slow
def test_its_own_table_is_summarised_again(swept: Swept) -> None:
    report = wb.report(swept.output)

    def summary(rows: list[Any]) -> list[Any]:
        return [
            [row["measure"], row["value"], row.get("level")]
            for row in rows
            if row["measure"].startswith(("snli-increase", "attention", "spearman", "best-"))
        ]

    first = summary(swept.report["rows"])
    assert len(first) == 12 + 5 + 1 + 1
    read = summary(report.to_dict()["rows"])
    for mine, other in zip(first, read, strict=True):
        assert mine[::2] == other[::2]
        assert mine[1] == pytest.approx(other[1], abs=1e-12)


@pytest.mark.slow
def test_the_published_table(cli: Cli, shared_data: Path) -> None:
    """All of Table 6, 37 of 37, 24 of 32, Spearman −.041, and where Table 5 differs from it."""
    done = cli("report", shared_data / "published" / "paper2_table7_clean.csv")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    for line in (
        "sentence 1 0.8458 0.8849 0.0391 1 of 1",
        "layer 12 4 0.8162 0.8647 0.0484 0.0194 4 of 4",
        "layer 11 16 0.7722 0.8194 0.0472 0.0425 16 of 16",
        "+ attention 16 0.7186 0.7907 0.0721 0.0488 16 of 16",
        "37 of 37",
        "24 of 32 settings of layer 11",
        "over 76 models: -0.041 (p = 0.728;",
    ):
        assert line in text
    assert "L11 η: printed 0.6493 (00111), best is 0.3205 (11101)" in done.err
    assert "SENT-1: the table says η = 0.1231, parity · accuracy is 0.0690" in done.err
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_a_part_of_the_published_table_is_not_compared_with_its_best(
    cli: Cli, shared_data: Path, tmp_path: Path
) -> None:
    """The best of some settings need not be the best of all, so nothing is said of Table 5."""
    whole = (shared_data / "published" / "paper2_table7_clean.csv").read_text(encoding="utf-8")
    (tmp_path / "part.csv").write_text("".join(whole.splitlines(keepends=True)[:8]))
    done = cli("report", tmp_path / "part.csv")
    assert done.code == 0, done.err
    assert "printed" not in done.err
    assert "7 of the 76 models of the published Table 7" in done.err


@pytest.mark.slow
def test_without_a_text_there_is_no_baseline(cli: Cli, inputs: dict[str, Any]) -> None:
    done = cli(*arguments(inputs, "--no-repair"))
    assert done.code == 0
    assert "Sent-debias" not in done.out
    assert "note: without SENT-Debias: it needs a text, --sent-debias TEXT" in done.err
    assert all(len(line) <= 100 for line in done.out.splitlines())


@pytest.mark.slow
def test_interrupted_behind_the_models(
    cli: Cli, inputs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals are computed when both models are done: the outputs of these are not lost."""
    from wordbias.contextual.sweep import sweep as study

    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "inference_rows", stop)
    done = cli(*arguments(inputs, "-o", tmp_path / "t.csv"))
    assert done.code == 130
    files = "t.csv.next-sentence.part and t.csv.inference.part"
    assert f"interrupted; the same call resumes from {files}" in done.err
    assert not (tmp_path / "t.csv").exists()
    assert "start it again with an output file" in cli(*arguments(inputs)).err


@pytest.mark.slow
def test_an_interrupted_sweep_is_resumed(
    cli: Cli, inputs: dict[str, Any], swept: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordbias.contextual.sweep.forward import Forward

    real, mine = Forward.__call__, tmp_path / "t.csv"
    given = arguments(inputs, "--sent-debias", inputs["text"], "-o", mine, "-q")

    def stop(forward: Forward, *given: Any) -> Any:
        if forward.model.config.num_labels == 3:
            raise KeyboardInterrupt
        return real(forward, *given)

    monkeypatch.setattr(Forward, "__call__", stop)
    done = cli(*given)
    assert done.code == 130
    assert "the same call resumes from t.csv.next-sentence.part" in done.err
    assert not mine.exists()
    assert (tmp_path / "t.csv.next-sentence.part").exists()
    seen: list[int] = []

    def count(forward: Forward, *given: Any) -> Any:
        seen.append(forward.model.config.num_labels)
        return real(forward, *given)

    monkeypatch.setattr(Forward, "__call__", count)
    assert cli(*given).code == 0
    assert set(seen) == {3}  # the first model was done
    assert mine.read_text() == swept.output.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sweep", "Missing argument 'MODEL'"),
        ("sweep m --nli n --snli s", "--stereoset: needed for the sweep"),
        ("MORE --drop nan", "'nan' is not a finite number"),
        ("MORE --groups age", "--groups goes with --sent-debias"),
        ("MORE --top 0.5,0", "share"),
        ("MORE --top 0.5,x", "share"),
        ("MORE --top ,", "share"),
    ],
)
def test_usage(refused: Callable[..., str], given: str, message: str) -> None:
    more = "sweep m --nli n --snli s --stereoset g --lists l"
    assert message in refused(*given.replace("MORE", more).split(), code=2)


def test_bad_input(refused: Callable[..., str], inputs: dict[str, Any], tmp_path: Path) -> None:
    def said(*more: Any, at: int | None = None, given: Any = None) -> str:
        call = arguments(inputs, *more)
        if at is not None:
            call[at] = given
        line = refused(*call)
        assert not list(tmp_path.glob("*.csv"))
        return line

    pytest.importorskip("fcntl")
    with locked(tmp_path / "t.csv"):
        locked_out = said("-o", tmp_path / "t.csv")
    assert "t.csv: another process is writing it; wait for that one" in locked_out
    (tmp_path / "pairs.txt").write_text("she left\n")
    assert said("--pairs", tmp_path / "pairs.txt").startswith(
        f"wordbias: {tmp_path / 'pairs.txt'}: line 1: expected the columns"
    )
    assert "such as she" not in said("--pairs", tmp_path / "none.toml")
    assert "cannot be drawn" in said("--plot", tmp_path / "a.txt")
    assert "is both --snli and -o; name two files" in said("-o", inputs["snli"])
    assert "the folder" in said("-o", tmp_path / "none" / "t.csv")
    assert "no trained next-sentence head" in said(at=1, given=inputs["nli"])
    assert "is no trained classifier" in said(at=5, given=inputs["nsp"])
    assert "line 1: has no columns" in said(at=3, given=inputs["snli"])
    shallow = save(tmp_path / "one", "BertForNextSentencePrediction", 3, layers=1)
    assert "layers 1 to 1" in said(at=1, given=shallow)


@pytest.mark.slow
def test_ranks_at_another_share_of_triples(swept: Swept) -> None:
    rows = [row for row in swept.report["rows"] if row["measure"] == "correlation"]
    assert [(row["x"], row["y"]) for row in rows] == [("S, 0.5", "S, 1"), ("D, 0.5", "D, 1")]
    assert all(-1 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in rows)
