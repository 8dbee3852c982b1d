"""A sweep of heads that read the last token, or a mean, against whole passes with hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_heads
from sentence_models import TEXTS, encoded, load, sentence_folder
from swept_models import ALIKE, models_of, naive, swept
from tiny_decoders import WITH_SITES, build_decoder, word_tokenizer
from tiny_encoders import build

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.models.sentence_pairs import SentencePair, sentence_pairs
from wordbias.models.sites import Site, read_site

torch = pytest.importorskip("torch")
linear_model = pytest.importorskip("sklearn.linear_model")

from wordbias.contextual.fitting import fit_adapter  # noqa: E402
from wordbias.contextual.sweep.forward import Forward, Plan, one_by_one  # noqa: E402
from wordbias.contextual.sweep.sweep import models_of as of_adapter  # noqa: E402
from wordbias.models.families import final_of  # noqa: E402
from wordbias.models.folding import fold, reasons_against  # noqa: E402
from wordbias.models.hooks import applied, recording  # noqa: E402
from wordbias.models.text_classifier import TextClassifier  # noqa: E402

PAIRS = [SentencePair(text.replace("She", "He"), text) for text in TEXTS if text.startswith("She")]


@pytest.fixture(autouse=True)
def _no_gradients() -> Any:
    with torch.inference_mode():
        yield


@pytest.fixture
def padded() -> dict[str, Any]:
    """Return three texts of different lengths, padded with 0."""
    ids = torch.randint(5, 400, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1] * 9, [1] * 6 + [0] * 3, [1] * 4 + [0] * 5])
    return {"input_ids": ids * mask, "attention_mask": mask}


def of_last_token(family: str, layers: int = 3) -> Any:
    depth = "n_layer" if family == "gpt2" else "num_hidden_layers"
    options = {depth: layers, "num_labels": 3, "pad_token_id": 0}
    return build_decoder(family, 400, 0, "SequenceClassification", **options)


def of_mean(folder: Path, *kinds: str) -> TextClassifier:
    """Load a sentence-transformers folder with a linear head fitted to its vectors."""
    path = sentence_folder(folder, *kinds)
    x, labels = encoded(path), np.array(["a", "b", "c"])[np.arange(len(TEXTS)) % 3]
    head = linear_model.LogisticRegression(C=1000, max_iter=5000).fit(x, labels)
    return TextClassifier.load((str(path), head))


@pytest.mark.parametrize("family", WITH_SITES)
def test_settings_of_a_head_that_reads_the_last_token(family: str, padded: dict[str, Any]) -> None:
    model = of_last_token(family)
    models = models_of(model, 1 if family == "llama" else 5)
    assert read_site(model) == Site("tokens", 3)
    expected = naive(model, models, padded)
    assert float((swept(model, models, padded) - expected).abs().max()) <= ALIKE
    apart = (expected[:, None] - expected[None]).abs().amax((2, 3)).numpy()
    assert (apart[~np.eye(len(models), dtype=bool)] > 0).all()


@pytest.mark.parametrize(("family", "layers"), [("modernbert", 3), ("eurobert", 2)])
def test_settings_of_a_head_that_reads_a_mean(
    family: str, layers: int, padded: dict[str, Any]
) -> None:
    model = build(family, classifier_pooling="mean", num_hidden_layers=layers)
    models = models_of(model)
    expected = naive(model, models, padded)
    assert expected.shape[0] == 75
    assert float((swept(model, models, padded) - expected).abs().max()) <= ALIKE


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [(), ("Normalize",)])
def test_settings_of_an_encoder_with_a_linear_head(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    loaded = of_mean(tmp_path / "model", *kinds)
    model, inputs = loaded.model, batch(loaded)
    models = models_of(model)
    expected = naive(model, models, inputs)
    assert float((swept(model, models, inputs) - expected).abs().max()) <= ALIKE * scale(expected)
    one_by_one_too, _ = one_by_one(model, Plan.of(models, read_site(model)), inputs, ())
    assert torch.equal(one_by_one_too, expected)


def scale(x: Any) -> float:
    return max(1.0, float(x.abs().max()))


def batch(loaded: TextClassifier) -> dict[str, Any]:
    encoding = loaded.tokenizer(list(TEXTS[:5]), padding=True, return_tensors="pt")
    return {name: encoding[name] for name in ("input_ids", "attention_mask")}


def test_inputs_of_the_final_layer(padded: dict[str, Any]) -> None:
    for model in (of_last_token("llama"), build("modernbert", classifier_pooling="mean")):
        models = models_of(model, 20)
        plan = Plan.of(models, read_site(model))
        for logits, vectors in (
            Forward(model, plan)(padded, [0, 2]),
            one_by_one(model, plan, padded, [0, 2]),
        ):
            assert vectors.shape == (2, 3, 16)
            assert float((final_of(model)(vectors) - logits[[0, 2]]).abs().max()) <= ALIKE


def test_the_head_of_scikit_learn_predicts_the_same(tmp_path: Path) -> None:
    path = sentence_folder(tmp_path / "model")
    x, labels = encoded(path), np.array(["b", "a"])[np.arange(len(TEXTS)) % 2]
    for head in (linear_model.LogisticRegression(), linear_model.RidgeClassifier()):
        head.fit(x, labels)
        for encoder in (path, load(path)):
            classifier = TextClassifier.load((encoder, head))
            assert classifier.classes == ("a", "b")
            p = classifier.probabilities(TEXTS)
            assert [classifier.classes[i] for i in p.argmax(1)] == head.predict(x).tolist()
            if hasattr(head, "predict_proba"):
                np.testing.assert_allclose(p, head.predict_proba(x), atol=1e-5)


@pytest.mark.parametrize(("kind", "rounding"), [("bfloat16", 0.02), ("float64", 1e-5)])
def test_the_head_has_the_precision_of_its_encoder(
    tmp_path: Path, kind: str, rounding: float
) -> None:
    path = sentence_folder(tmp_path / "model")
    x = encoded(path)
    head = linear_model.LogisticRegression().fit(x, x[:, 0] > np.median(x[:, 0]))
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    classifier = TextClassifier.load((load(path).to(getattr(torch, kind)), head))
    assert torch.equal(torch.rand(1), expected)  # loading draws no random numbers
    known = TextClassifier.load((path, head)).probabilities(TEXTS)
    assert np.ptp(known[:, 0]) > 5 * rounding
    np.testing.assert_allclose(classifier.probabilities(TEXTS), known, atol=rounding)


def test_what_is_fitted_behind_the_last_layer_is_what_the_head_reads() -> None:
    tokenizer = word_tokenizer(*TEXTS, front=True, pad_token="<pad>")
    options = {"num_labels": 2, "pad_token_id": tokenizer.pad_token_id}
    model = build_decoder("llama", len(tokenizer), 0, "SequenceClassification", **options)
    adapter = fit_adapter(model, tokenizer, PAIRS)
    assert {str(site) for site in adapter.sites} == {
        "query@1", "key@1", "value@1", "tokens@1", "tokens@2", "sentence",
    }  # fmt: skip
    assert [str(step.site) for step in of_adapter(adapter)["L12-110"]] == ["tokens@2", "sentence"]
    last = []
    for text in (sentence for side in zip(*PAIRS, strict=True) for sentence in side):
        with recording(model, [Site("tokens", 2)]) as values:
            model(**tokenizer(text, return_tensors="pt"))
        last.append(values[Site("tokens", 2)][0, -1].double().numpy())
    a, b = np.split(np.array(last), 2)
    first = np.linalg.svd(a - b)[2][0]
    for site in (Site("tokens", 2), Site("sentence")):
        cosine = abs(first @ adapter.subspaces[site].basis[0])
        assert cosine == pytest.approx(1, abs=1e-5)


def test_a_projection_has_the_settings_of_a_sweep() -> None:
    """Where a head reads a mean, L12 is removed from the tokens of the last layer in both."""
    model = tiny_heads.model("modernbert", "SequenceClassification", classifier_pooling="mean")
    tokenizer = tiny_heads.tokenizer()
    fitted = fit_adapter(model, tokenizer, sentence_pairs())
    for setting in (None, "L12-110"):
        adapter = wb.project((model, tokenizer), setting=setting)
        assert adapter.sites == fitted.sites
        steps = adapter.interventions("L12-110")
        assert [str(step.site) for step in steps] == ["tokens@2", "sentence"]
        for site, subspace in fitted.subspaces.items():
            np.testing.assert_array_equal(adapter.subspaces[site].basis, subspace.basis)


def test_what_is_refused(tmp_path: Path) -> None:
    path = str(sentence_folder(tmp_path / "model"))
    x = encoded(path)
    head = linear_model.LogisticRegression().fit(x[:, :8], np.arange(len(x)) % 2)
    with pytest.raises(WordbiasError, match="16 values, the LogisticRegression is fitted to 8;"):
        TextClassifier.load((path, head))
    with pytest.raises(WordbiasError, match="expected a fitted linear model of scikit-learn"):
        TextClassifier.load((path, linear_model.LogisticRegression()))
    prompted = sentence_folder(
        tmp_path / "prompted", prompts={"q": "query: "}, default_prompt_name="q"
    )
    with pytest.raises(WordbiasError, match="puts the prompt 'query: ' before every text"):
        TextClassifier.load((prompted, head))
    tokenizer = word_tokenizer(*TEXTS, pad_token="<pad>")
    model = build_decoder("llama", len(tokenizer), 0, "SequenceClassification", num_labels=2)
    with pytest.raises(WordbiasError, match=r"pad_token_id in its config\.json is None, but"):
        TextClassifier.load((model, tokenizer))
    late = build("eurobert", classifier_pooling="late")
    with pytest.raises(WordbiasError, match="one vector of the text has to be read"):
        Forward(late, Plan.of({"Base": []}, Site("cls", 3)))


@pytest.mark.parametrize("family", ["llama", "gpt2", "modernbert", "eurobert"])
def test_what_a_head_reads_folds_into_its_first_layer(family: str, padded: dict[str, Any]) -> None:
    decoder = family in WITH_SITES
    model = of_last_token(family) if decoder else build(family, classifier_pooling="mean")
    model = model.double()
    for name, steps in models_of(model).items():
        if name.startswith(("SENT", "L12")):
            folded = fold(model, steps)
            assert folded.left == ()
            with applied(model, steps):
                expected = model(**padded).logits
            torch.testing.assert_close(folded.model(**padded).logits, expected, rtol=0, atol=1e-9)
    (reason,) = reasons_against(model, [Site("tokens", 2)])
    assert reason
