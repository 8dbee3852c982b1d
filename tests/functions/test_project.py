"""`wordbias.project` and the adapter it returns, as a notebook uses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_encoders import build, save

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.errors import UsageError, WordbiasError
from wordbias.functions.project import project
from wordbias.models.adapters import Adapter
from wordbias.models.sentence_pairs import sentence_pairs
from wordbias.models.sites import Site

torch = pytest.importorskip("torch")
PAIRS = [(pair.first, pair.second) for pair in sentence_pairs()[:16]]
TEXTS = ["she is here", "a man left the house"]


@pytest.fixture
def bert(tokenizer: Any) -> Any:
    return build("bert", vocabulary=len(tokenizer))


@pytest.fixture(scope="module")
def fitted(tokenizer: Any) -> Adapter:
    model = build("bert", vocabulary=len(tokenizer))
    return project((model, tokenizer), pairs=PAIRS, setting="L12-110")


def logits(model: Any, tokenizer: Any) -> Any:
    x = tokenizer(TEXTS, padding=True, return_tensors="pt")
    x = {name: x[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        return model(**x).logits


def test_a_folder_gives_the_rows_of_the_command_line(
    cli: Callable[..., Any], bert: Any, tokenizer: Any, tmp_path: Path
) -> None:
    save(bert, tokenizer, tmp_path / "m")
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    given: dict[str, Any] = {"methods": "mhd-pairs:dims=1", "pairs": tmp_path / "pairs.tsv"}
    adapter = project(tmp_path / "m", output=tmp_path / "mine", **given)
    assert adapter.report is not None
    call = ("project", tmp_path / "m", "--methods", given["methods"], "--pairs", given["pairs"])
    printed = json.loads(cli(*call, "-o", tmp_path / "other", "--format", "json").out)
    assert adapter.report.to_dict()["rows"] == printed["rows"]
    assert adapter.report.arguments.keys() == printed["arguments"].keys()
    assert (tmp_path / "mine").read_bytes() == (tmp_path / "other").read_bytes()
    loaded = project((bert, tokenizer), **given)
    for site, subspace in adapter.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, loaded.subspaces[site].basis)
    for more, code in ((), 2), (("-o", tmp_path / "a"), 0):  # without a place for it it is none
        done = cli(*call, "--setting", "SENT-0", *more)
        assert done.code == code, done.err
    assert wb.load(tmp_path / "a").chosen == "SENT-0"


def test_the_sentence_setting_has_sites_of_its_own(bert: Any, tokenizer: Any) -> None:
    adapter = project((bert, tokenizer), pairs=PAIRS, setting="sentence")
    assert [str(removal.site) for removal in adapter.interventions()] == ["sentence"]


def test_hooks_last_as_long_as_the_block(fitted: Adapter, bert: Any, tokenizer: Any) -> None:
    before = logits(bert, tokenizer)
    with fitted.on(bert) as same:
        assert same is bert
        inside = logits(bert, tokenizer)
    assert (inside - before).abs().max() > 1e-3
    assert torch.equal(logits(bert, tokenizer), before)
    with pytest.raises(RuntimeError, match="on purpose"), fitted.on(bert):
        raise RuntimeError("on purpose")
    assert torch.equal(logits(bert, tokenizer), before)


def test_folded_weights_do_what_hooks_do(
    fitted: Adapter, bert: Any, tokenizer: Any, tmp_path: Path
) -> None:
    before = logits(bert, tokenizer)
    folded = fitted.fold(bert)
    assert torch.equal(logits(bert, tokenizer), before)
    with fitted.on(bert):
        torch.testing.assert_close(
            logits(folded, tokenizer), logits(bert, tokenizer), atol=1e-5, rtol=0
        )
        with pytest.raises(WordbiasError, match="so fold outside the block"):
            fitted.fold(bert)
    folded.save_pretrained(tmp_path / "folded")
    reloaded = type(bert).from_pretrained(tmp_path / "folded").eval()
    assert torch.equal(logits(reloaded, tokenizer), logits(folded, tokenizer))


def test_what_weights_cannot_do_is_refused_or_noted(
    fitted: Adapter, bert: Any, tokenizer: Any
) -> None:
    with pytest.raises(WordbiasError, match=r"tokens@2: a layer's.*fold the rest with partly=True"):
        fitted.fold(bert, "L11-00110")
    with pytest.warns(WordbiasWarning, match="not folded: tokens@2"):
        folded = fitted.fold(bert, "L11-00110", partly=True)
    expected = fitted.setting("L12-110").fold(bert)
    assert torch.equal(logits(folded, tokenizer), logits(expected, tokenizer))
    with pytest.raises(WordbiasError, match="residual connection; use on"):
        fitted.fold(bert, "tokens@2", partly=True)


def test_another_model_is_refused(fitted: Adapter, tokenizer: Any) -> None:
    other = build("bert", seed=1, vocabulary=len(tokenizer))
    with (
        pytest.raises(WordbiasError, match=r"another model .*insist with force=True"),
        fitted.on(other),
    ):
        pass
    with fitted.on(other, force=True):
        logits(other, tokenizer)


def test_settings_are_listed_and_chosen(fitted: Adapter, bert: Any, tokenizer: Any) -> None:
    assert len(fitted.settings) == 74
    assert fitted.setting("SENT-0").chosen == "SENT-0"
    with pytest.raises(WordbiasError, match="sent-debias: not in this adapter"):
        fitted.setting("sent-debias")
    plain = project((bert, tokenizer), pairs=PAIRS, sites=["cls@-1"], sent_debias=TEXTS * 3)
    assert plain.settings == ("sent-debias",)
    with pytest.raises(WordbiasError, match="name one with setting="), plain.on(bert):
        pass


@pytest.mark.slow
def test_nothing_that_is_read_would_change(
    fitted: Adapter, bert: Any, tokenizer: Any, tmp_path: Path
) -> None:
    library = pytest.importorskip("sentence_transformers")
    save(build("bert", "Model", vocabulary=len(tokenizer)), tokenizer, tmp_path / "m")
    library.SentenceTransformer(str(tmp_path / "m"), device="cpu").save(str(tmp_path / "st"))
    sentences = library.SentenceTransformer(str(tmp_path / "st"), device="cpu")
    adapter = project(sentences, setting="SENT-0")
    with pytest.raises(WordbiasError, match="change no output"), adapter.on(sentences):
        pass
    before = sentences.encode(TEXTS)
    with adapter.on(sentences, "attention@2"):
        inside = sentences.encode(TEXTS)
    assert np.abs(inside - before).max() > 1e-3
    np.testing.assert_array_equal(sentences.encode(TEXTS), before)
    folded = adapter.fold(sentences, "attention@2")
    np.testing.assert_allclose(folded.encode(TEXTS), inside, atol=1e-5)
    np.testing.assert_array_equal(sentences.encode(TEXTS), before)


@pytest.mark.parametrize("given", [{"unit_length": True}, {"one_sided": True}, {"tokens": "cls"}])
def test_how_it_is_fitted(
    fitted: Adapter, bert: Any, tokenizer: Any, given: dict[str, Any]
) -> None:
    other = project((bert, tokenizer), pairs=PAIRS, **given)
    ((name, value),) = given.items()
    name = {"unit_length": "unit"}.get(name, name)
    assert other.facts[name] == value != fitted.facts[name]
    site = next(site for site in fitted.subspaces if site.kind == "tokens")
    apart = np.abs(other.subspaces[site].basis) - np.abs(fitted.subspaces[site].basis)
    assert np.abs(apart).max() > 1e-3


def test_it_is_saved_with_its_setting_and_shows_itself(fitted: Adapter, tmp_path: Path) -> None:
    fitted.save(tmp_path / "a")
    loaded = wb.load(tmp_path / "a")
    assert loaded.chosen == "L12-110"
    assert repr(loaded) == repr(fitted)
    assert "\n" not in repr(loaded)
    assert "; L12-110: " in repr(loaded)
    assert "<table" in loaded._repr_html_()
    assert loaded._repr_html_() == fitted._repr_html_()
    assert loaded.settings == fitted.settings


def test_a_loaded_model_is_left_as_it_was(bert: Any, tokenizer: Any) -> None:
    bert.train()
    bert.bert.encoder.layer[0].eval()
    training = [module.training for module in bert.modules()]
    adapter = project((bert, tokenizer), pairs=PAIRS)
    assert [module.training for module in bert.modules()] == training
    expected = project((bert.eval(), tokenizer), pairs=PAIRS)
    for site, subspace in adapter.subspaces.items():
        np.testing.assert_array_equal(subspace.basis, expected.subspaces[site].basis)


def test_mistakes_in_pythons_words(bert: Any, tokenizer: Any, tmp_path: Path) -> None:
    mine = (bert, tokenizer)
    for given, message in (
        (
            {"groups": "age", "pairs": PAIRS},
            "pairs= is for other sentences than those of groups=; leave it out",
        ),
        (
            {"groups": "age", "methods": "mhd-pairs"},
            "methods=.mhd-pairs.: is fitted to pairs of sentences, and those of groups= are",
        ),
        ({"tokens": "one"}, "tokens=: expected one of mean, word, cls, last, all, got 'one'"),
        (
            {"tokens": "all"},
            "not for methods=.mhd-pairs.; expected one of mean, word, cls, last",
        ),
        ({"methods": "mhd-pairs:dims=0"}, "dims: expected a whole number from 1 on, found '0'"),
        ({"head": "none"}, "head= goes with the name of a model"),
    ):
        with pytest.raises(UsageError, match=message):
            project(mine, **given)
    with (
        pytest.raises(WordbiasError, match=r"is loaded on cpu; .*leave out wb.config"),
        wb.config(device="cuda"),
    ):
        project(mine)
    with pytest.raises(WordbiasError, match="got BertForSequenceClassification without its token"):
        project(bert)
    with pytest.raises(WordbiasError, match="pairs, pair 1: expected two texts"):
        project(mine, pairs=["she left"])
    with pytest.raises(WordbiasError, match="not among those to fit: cls@3; name it with sites="):
        project(mine, sites="cls@-1", setting="L12-110")


@pytest.mark.parametrize(
    ("methods", "dims", "hard"),
    [
        (None, 1, True),
        ("mhd-pairs", 1, True),
        ("mhd-pairs:dims=2", 2, True),
        ("misp-pairs:dims=3", 3, False),
    ],
)
def test_a_method_for_pairs_says_how_its_components_are_removed(
    bert: Any, tokenizer: Any, tmp_path: Path, methods: str | None, dims: int, hard: bool
) -> None:
    adapter = project(
        (bert, tokenizer), pairs=PAIRS, methods=methods, sites="tokens@2", setting="tokens@2"
    )
    adapter.save(tmp_path / "saved")
    for variant in (adapter, wb.load(tmp_path / "saved"), adapter.null()):
        (removal,) = variant.interventions()
        assert (removal.what.dims, removal.hard) == (dims, hard)
    np.testing.assert_array_equal(
        adapter.interventions()[0].what.basis, adapter.subspaces[Site("tokens", 2)].basis[:dims]
    )
