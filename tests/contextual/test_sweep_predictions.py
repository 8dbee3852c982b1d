"""Predictions of a sweep on a task, against whole passes with hooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tiny_heads
import tiny_tasks
from quick_cases import first_quick

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.contextual.fitting import fit_adapter  # noqa: E402
from wordbias.contextual.sweep.run import ModelSource  # noqa: E402
from wordbias.contextual.sweep.task import (  # noqa: E402
    TaskModel,
    load_task_model,
    predict_all,
    vectors_under,
)
from wordbias.methods.rows import fit_rows  # noqa: E402
from wordbias.models.families import final_of  # noqa: E402
from wordbias.models.hooks import applied, recording  # noqa: E402
from wordbias.models.sentence_pairs import sentence_pairs  # noqa: E402
from wordbias.models.sites import Site  # noqa: E402
from wordbias.settings import Configured  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
TEXTS = tiny_tasks.texts(90, 5)
METHODS = {"leace": Configured("leace", {}), "mhd:dims=2": Configured("mhd", {"dims": 1})}


def swept(family: str, **options: Any) -> TaskModel:
    model = tiny_tasks.classifier(1, family, **options)
    source = ModelSource("classes", (model, tiny_heads.tokenizer()))
    loaded = load_task_model(source)
    assert loaded.classes == tiny_tasks.CLASSES
    adapter = fit_adapter(loaded.model, loaded.tokenizer, sentence_pairs()[:12])
    return TaskModel(source, loaded, adapter)


def groups() -> Any:
    return np.array([int(example.group == "M") for example in TEXTS])


@pytest.mark.parametrize("family", first_quick(["bert", "distilbert", "deberta-v2"]))
def test_predictions_are_those_of_a_whole_pass_with_hooks(family: str) -> None:
    task = swept(family)
    lines = [example.text for example in TEXTS]
    fitted_on = np.arange(0, 90, 2)
    predictions = predict_all(task, lines, fitted_on, groups(), ("F", "M"), METHODS, [7, 8])
    assert predictions.classes.shape == (90, 77)
    assert predictions.nulls.shape == (90, 2, 76)
    assert predictions.names[0] == "Base"
    assert predictions.names[-2:] == tuple(METHODS)
    # whole passes for some of all settings; a class is decided by rounding in few texts, if any
    for i in (0, 1, 9, 30, 52, 74, 75, 76):
        name = predictions.names[i]
        if not i:
            plain = task.model.probabilities(lines)
        else:
            with predictions.adapters[name].on(task.model.model):
                plain = task.model.probabilities(lines)
            drawn = predictions.removals.drawn(predictions.adapters[name].interventions(), 8)
            with applied(task.model.model, drawn):
                random = task.model.probabilities(lines)
            same(random, predictions.nulls[:, 1, i - 1])
        same(plain, predictions.classes[:, i])
    assert len({tuple(predictions.classes[:, i]) for i in range(77)}) > 5


def same(probabilities: Any, classes: Any) -> None:
    clear = np.abs(probabilities[:, 0] - 0.5) > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(probabilities.argmax(1)[clear], classes[clear])


def test_random_removals_move_the_vectors_of_each_site_as_far() -> None:
    """In the mean square over the texts; in the attention in each head."""
    task = swept("bert")
    lines = [example.text for example in TEXTS]
    predictions = predict_all(task, lines, np.arange(90), groups(), ("F", "M"), METHODS, [])
    for name in ("attn-11111", "attn-00000", "SENT-1", "leace"):
        steps = predictions.adapters[name].interventions()
        drawn = predictions.removals.drawn(steps, 3)
        assert [step.site for step in drawn] == [step.site for step in steps]
        for fitted, random in zip(steps, drawn, strict=True):
            x = predictions.removals.values[fitted.site].astype(float)
            parts = predictions.removals.heads[fitted.site]
            far = [
                [(head**2).sum(1).mean() for head in np.split(step(x) - x, parts, axis=1)]
                for step in (fitted.step, random.step)
            ]
            np.testing.assert_allclose(*far, rtol=1e-6)
            assert random.content != fitted.content
        redrawn = predictions.removals.drawn(steps, 4)
        assert [step.content for step in redrawn] != [step.content for step in drawn]


def test_a_method_is_fitted_to_the_vectors_that_the_last_layer_reads() -> None:
    task = swept("bert")
    lines, fitted_on = [example.text for example in TEXTS], np.arange(40)
    predictions = predict_all(
        task, lines, fitted_on, groups(), ("F", "M"), {"leace": METHODS["leace"]}, []
    )
    with torch.inference_mode(), recording(task.model.model, [Site("sentence")]) as values:
        inputs = task.model.tokenizer(lines, padding=True, return_tensors="pt")
        task.model.model(**inputs)
        x = values[Site("sentence")].double().numpy()
    (step,) = fit_rows("leace", x[:40], groups()[:40]).steps
    with torch.inference_mode():
        logits = final_of(task.model.model)(torch.from_numpy(step(x)).float()).numpy()
    clear = np.abs(logits[:, 0] - logits[:, 1]) > 1e-3
    np.testing.assert_array_equal(logits.argmax(1)[clear], predictions.classes[clear, -1])
    left = [step(x)[:40][groups()[:40] == g].mean(0) for g in (0, 1)]
    np.testing.assert_allclose(left[0], left[1], atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
def test_vectors_under_a_removal_give_its_predictions(family: str) -> None:
    task = swept(family)
    lines = [example.text for example in TEXTS]
    predictions = predict_all(task, lines, np.arange(90), groups(), ("F", "M"), METHODS, [])
    names = ("L12-110", "attn-11111", "leace")
    models = {name: predictions.adapters[name].interventions() for name in names}
    vectors = vectors_under(task, {"none": [], **models}, lines)
    for name, x in vectors.items():
        with torch.inference_mode():
            logits = final_of(task.model.model)(torch.from_numpy(x.copy())).numpy()
        place = predictions.names.index("Base" if name == "none" else name)
        clear = np.abs(logits[:, 0] - logits[:, 1]) > 1e-3
        np.testing.assert_array_equal(logits.argmax(1)[clear], predictions.classes[clear, place])
