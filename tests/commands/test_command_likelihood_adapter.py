"""`wordbias likelihood --adapter`: the same items before and after, and what changed."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import small_likelihood  # noqa: E402
import small_winobias  # noqa: E402
from tiny_decoders import build_decoder, byte_tokenizer, save_decoder  # noqa: E402

import wordbias as wb  # noqa: E402
from wordbias.draws import drawn as draws_of  # noqa: E402
from wordbias.draws import with_change  # noqa: E402
from wordbias.models.adapters import Adapter  # noqa: E402
from wordbias.models.fingerprint import Fingerprint  # noqa: E402
from wordbias.models.sites import Site  # noqa: E402
from wordbias.results import Row  # noqa: E402
from wordbias.subspace import Subspace  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
Cli = Callable[..., Any]
SITES = ("tokens@1", "attention-output@2")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a decoder, an adapter for it, and each data set."""
    folder = tmp_path_factory.mktemp("likelihood-adapter")
    save_decoder(folder / "decoder")
    model, _ = loaded()
    rng = np.random.default_rng(0)
    fitted = {
        Site.parse(site): Subspace(np.linalg.qr(rng.normal(size=(16, 2)))[0].T, np.ones(2))
        for site in SITES
    }
    Adapter(fitted, Fingerprint.of(model)).save(folder / "adapter.safetensors")
    small_likelihood.crows_pairs(folder / "crows.csv")
    small_likelihood.stereoset(folder / "stereoset.json")
    small_likelihood.winogender(folder / "winogender")
    small_winobias.write(folder / "winobias")
    small_likelihood.bbq(folder / "Gender_identity.jsonl")
    small_likelihood.pairs(folder / "pairs.tsv")
    (folder / "text.txt").write_text("The nurse went home. She slept for a long time. " * 60)
    return folder


def loaded() -> tuple[Any, Any]:
    tokenizer = byte_tokenizer()
    shape = {"max_position_embeddings": 1024}
    return build_decoder("llama", len(tokenizer), **shape), tokenizer


MOST = (
    "--data", "crows.csv", "--data", "stereoset.json", "--data", "Gender_identity.jsonl",
    "--pairs", "pairs.tsv", "--perplexity", "text.txt",
)  # fmt: skip


def call(data: Path, cli: Cli, *more: object) -> Any:
    given = [data / word if (data / word).exists() else word for word in MOST]
    done = cli("likelihood", data / "decoder", *given, *more)
    assert done.code == 0, done.err
    return done


def rows_of(done: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(done.out)["rows"]
    return rows


@pytest.mark.slow
def test_before_and_after_on_the_same_items(data: Path, cli: Cli, tmp_path: Path) -> None:
    """Rows before are those without the adapter; those after are those of a changed model."""
    adapter, scores = data / "adapter.safetensors", tmp_path / "scores.csv"
    settings = ("--setting", SITES[0], "--setting", ",".join(SITES))
    given = ("--adapter", adapter, *settings, "-o", scores)
    rows = rows_of(call(data, cli, *given, "--format", "json"))
    plain = rows_of(call(data, cli, "--format", "json"))
    n = len(plain)
    assert (rows[:n], len(rows)) == (plain, 3 * n)
    model, tokenizer = loaded()
    fitted = wb.load(adapter)
    for place, name in enumerate((SITES[0], ",".join(SITES)), 1):
        after = rows[place * n : (place + 1) * n]
        with fitted.on(model, name):
            alone = wb.likelihood(
                (model, tokenizer), data=[data / MOST[i] for i in (1, 3, 5)],
                pairs=data / "pairs.tsv", perplexity=data / "text.txt",
            )  # fmt: skip
        assert [row["value"] for row in after] == pytest.approx([row.value for row in alone])
        for was, now in zip(plain, after, strict=True):
            assert now["stage"] == name
            assert now["subject"] == f"{was['subject']} {name}"
            if None in (was["value"], now["value"]):
                assert "change" not in now
                continue
            assert now["change"] == now["value"] - was["value"]
            if now["n"] == 1 and now["measure"] in ("crows", "likelihood-difference"):
                assert "change_low" not in now
                continue
            assert now["change_low"] <= now["change"] + 1e-12, now
            assert now["change"] <= now["change_high"] + 1e-12, now
    with scores.open(encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    assert list(dict.fromkeys(record["setting"] for record in records)) == [
        "none", SITES[0], ",".join(SITES),
    ]  # fmt: skip
    assert len(records) % 3 == 0


@pytest.mark.slow
def test_coreference_has_changes_too(data: Path) -> None:
    """Its gaps and correlations are bootstrapped over occupations and pairs."""
    given = {"data": [data / "winogender", data / "winobias"], "setting": SITES[0]}
    report = wb.likelihood(loaded(), adapter=data / "adapter.safetensors", **given)
    after = [row for row in report if row.details.get("stage") == SITES[0]]
    assert 2 * len(after) == len(report.rows)
    assert {row.measure for row in after} == {
        "coreference-accuracy", "coreference-gap", "coreference-correlation", "pro-preferred",
    }  # fmt: skip
    for row in after:
        assert row.details["change_low"] <= row.details["change"] + 1e-12, row
        assert row.details["change"] <= row.details["change_high"] + 1e-12, row


def test_the_answer_says_what_changed_and_at_what_cost(data: Path, cli: Cli) -> None:
    done = cli(
        "likelihood", data / "decoder", "--data", data / "crows.csv", "--perplexity",
        data / "text.txt", "--adapter", data / "adapter.safetensors", "--setting", SITES[0],
    )  # fmt: skip
    printed = " ".join(done.out.split())
    assert "Before and after tokens@1" in printed
    assert "After tokens@1: CrowS-Pairs: stereotyping one likelier" in printed
    assert "Cost of tokens@1:" in printed
    assert re.search(
        r"before, 0.5 without bias \((unchanged|better|worse|no clear change), ", printed
    )
    assert "before (worse, +" in printed or "before (no clear change" in printed
    assert "paired bootstrap over the same items" in printed
    done = cli(
        "likelihood", data / "decoder", "--pairs", data / "pairs.tsv", "--adapter",
        data / "adapter.safetensors", "--setting", SITES[0],
    )  # fmt: skip
    assert "perplexity not measured, which --perplexity TEXT does" in " ".join(done.out.split())


def test_python_takes_an_adapter_and_leaves_the_model_as_it_was(data: Path) -> None:
    model, tokenizer = loaded()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    given = {"pairs": data / "pairs.tsv", "seed": 3}
    fitted = wb.load(data / "adapter.safetensors")
    report = wb.likelihood((model, tokenizer), adapter=fitted, setting=SITES[0], **given)
    plain = wb.likelihood((model, tokenizer), **given)
    assert [row.to_dict() for row in report][: len(plain.rows)] == [row.to_dict() for row in plain]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert report.inputs["adapter"]["sites"] == list(SITES)


def test_a_change_is_the_paired_difference_of_the_items() -> None:
    """With half of the items changed by one, the interval is that of their mean difference."""
    rng = np.random.default_rng(0)
    before, drawn = rng.normal(size=40), rng.integers(40, size=(1000, 40))
    after = before + (np.arange(40) % 2)
    was = Row("a", "pair-lean", before.mean(), {"n": 40}, draws_of(before[drawn].mean(1), "pairs"))
    now = Row("b", "pair-lean", after.mean(), {"n": 40}, draws_of(after[drawn].mean(1), "pairs"))
    row = with_change(was, now, stage="s", seed=0)
    expected = np.percentile((after - before)[drawn].mean(1), [2.5, 97.5])
    assert row.details["change"] == pytest.approx(0.5)
    assert [row.details[key] for key in ("change_low", "change_high")] == pytest.approx(expected)
    alone = with_change(Row("a", "m", 1.0), Row("b", "m", 2.0), stage="s", seed=0)
    assert alone.details == {"stage": "s", "seed": 0, "change": 1.0}
    none = with_change(Row("a", "m", None), Row("b", "m", 2.0), stage="s", seed=0)
    assert "change" not in none.details


def test_a_change_without_an_interval_is_not_judged(data: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("The nurse said she slept.\tThe nurse said he slept.\n")
    done = cli(
        "likelihood", data / "decoder", "--pairs", tmp_path / "one.tsv", "--adapter",
        data / "adapter.safetensors", "--setting", SITES[0],
    )  # fmt: skip
    printed = " ".join(done.out.split())
    verdict = printed.partition("After tokens@1: ")[2].partition(". Cost of")[0]
    assert "unchanged" in verdict or "no interval to judge by" in verdict


def test_bad_adapters_are_one_line(data: Path, cli: Cli, tmp_path: Path) -> None:
    adapter = data / "adapter.safetensors"
    given = ("likelihood", data / "decoder", "--pairs", data / "pairs.tsv")
    other = tmp_path / "other"
    save_decoder(other, seed=1)
    out = tmp_path / "scores.csv"
    for call_, problem in (
        ((*given, "--adapter", adapter, "--setting", "tokens@2"), "tokens@2"),
        ((*given, "--adapter", adapter, "--setting", "cls@1"), "cls@1"),
        ((*given, "--adapter", tmp_path / "none.st", "--setting", "tokens@1"), "none.st"),
        (
            ("likelihood", other, *given[2:], "--adapter", adapter, "--setting", "tokens@1"),
            "was fitted on another model",
        ),
    ):
        done = cli(*call_, "-o", out)
        assert (done.code, done.err.count("\n")) == (1, 1), done.err
        assert problem in done.err
    forced = ("likelihood", other, *given[2:], "--adapter", adapter, "--setting", "tokens@1")
    assert cli(*forced, "--force").code == 0
    done = cli(*given, "--setting", "tokens@1", "-o", out)
    assert done.code == 2
    assert "--adapter and --setting go together" in done.err
    done = cli(*given, "--adapter", adapter, "--setting", "tokens@1", "-o", adapter)
    assert done.code == 1
    assert not out.exists()


def test_a_setting_that_changes_nothing_is_refused(data: Path, cli: Cli, tmp_path: Path) -> None:
    """Weights of 0 remove nothing."""
    model, _ = loaded()
    nothing = {Site.parse("tokens@1"): Subspace(np.eye(16)[:1], np.zeros(1))}
    path = tmp_path / "nothing.st"
    Adapter(nothing, Fingerprint.of(model)).save(path)
    given = ("likelihood", data / "decoder", "--pairs", data / "pairs.tsv", "--adapter", path)
    done = cli(*given, "--setting", "L11-01")
    assert (done.code, done.err.count("\n")) == (1, 1)
