"""A sweep's one pass against as many whole passes with hooks, on every family."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from swept_models import ALIKE, models_of, naive, swept
from tiny_encoders import FAMILIES, NORMS, ROTARY, build

from wordbias.errors import WordbiasError
from wordbias.models.hooks import Intervention
from wordbias.models.sites import Site, locate, read_site
from wordbias.subspace import Subspace

torch = pytest.importorskip("torch")

from wordbias.contextual.sweep.forward import (  # noqa: E402
    Forward,
    Plan,
    enter,
    one_by_one,
    quick_family,
)
from wordbias.models.families import logits_of  # noqa: E402


@pytest.fixture(autouse=True)
def _no_gradients() -> Any:
    with torch.inference_mode():
        yield


def test_all_74_settings_are_those_of_the_hooks(classifier: Any, inputs: dict[str, Any]) -> None:
    models = models_of(classifier)
    assert len(models) == 75
    expected = naive(classifier, models, inputs)
    logits = swept(classifier, models, inputs)
    assert logits.shape == expected.shape == (75, 3, 3)
    assert float((logits - expected).abs().max()) <= ALIKE
    # the settings are no copies of each other, so that agreeing says something
    one_batch_each = (expected[:, None] - expected[None]).abs().amax((2, 3)).numpy()
    assert (one_batch_each[~np.eye(75, dtype=bool)] > 0).all()
    assert np.median(one_batch_each) > 100 * ALIKE


def test_next_sentence_head_of_bert(inputs: dict[str, Any]) -> None:
    model = build("bert", "NextSentencePrediction")
    models = models_of(model, 3)
    expected = naive(model, models, inputs)
    assert expected.shape[-1] == 2
    assert float((swept(model, models, inputs) - expected).abs().max()) <= ALIKE


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("bert", {"num_hidden_layers": 2}),
        ("albert", {"num_hidden_layers": 4, "num_hidden_groups": 2}),
        ("distilbert", {"n_layers": 2}),
        ("deberta-v2", {"num_hidden_layers": 2}),
        ("deberta-v2", {"num_hidden_layers": 2, "conv_kernel_size": 0}),
        ("mpnet", {"num_hidden_layers": 5}),
    ],
)
def test_other_depths(family: str, options: dict[str, Any], inputs: dict[str, Any]) -> None:
    """A two-layer model has its last layer but one first; convolution may stand behind that."""
    model = build(family, **options)
    models = models_of(model, 3)
    expected = naive(model, models, inputs)
    assert float((swept(model, models, inputs) - expected).abs().max()) <= ALIKE


def test_padding_changes_nothing(classifier: Any, inputs: dict[str, Any]) -> None:
    """What a pair gets does not depend on how long its neighbours are."""
    models = models_of(classifier, 9)
    together = swept(classifier, models, inputs)
    for row, length in enumerate(inputs["attention_mask"].sum(1).tolist()):
        alone = {name: x[row : row + 1, :length] for name, x in inputs.items()}
        logits = swept(classifier, models, alone)[:, 0]
        assert float((logits - together[:, row]).abs().max()) <= ALIKE


def test_which_families_are_run_whole() -> None:
    """Those whose scores depend on the distance of tokens, or whose layers norm their input."""
    whole = {name for name in FAMILIES if quick_family(build(name)) is None}
    assert whole == {"deberta-v2", *ROTARY, *NORMS}


class Counting:
    """Counts the rows of tokens that enter the layers of a model."""

    def __init__(self, model: Any) -> None:
        self.tokens: Counter[int] = Counter()
        self.handles = [
            layer.register_forward_pre_hook(self._hook(i))
            for i, layer in enumerate(model.base_model.encoder.layer, 1)
        ]

    def _hook(self, i: int) -> Any:
        def hook(module: Any, args: Any) -> None:
            self.tokens[i] += args[0].shape[0] * args[0].shape[1]

        return hook


def test_layers_are_run_as_often_as_the_plan_says(inputs: dict[str, Any]) -> None:
    """BERT of 5 layers: the first three once, the fourth with and without attention, no fifth."""
    model = build("bert", num_hidden_layers=5)
    models = models_of(model)
    counting = Counting(model)
    swept(model, models, inputs)
    tokens = inputs["input_ids"].numel()
    # the fifth is entered, and the pass ended there before it computes
    assert dict(counting.tokens) == {1: tokens, 2: tokens, 3: tokens, 4: 2 * tokens, 5: tokens}
    counting.tokens.clear()
    one_by_one(model, Plan.of(models, read_site(model)), inputs, ())
    assert set(counting.tokens.values()) == {75 * tokens}


def test_the_last_layer_never_computes_all_tokens(inputs: dict[str, Any]) -> None:
    model = build("bert")
    seen: list[int] = []
    inner = model.base_model.encoder.layer[-1].intermediate
    inner.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape[0]))
    swept(model, models_of(model), inputs)
    assert sum(seen) == 9 * len(inputs["input_ids"])  # nine states of position 0


def test_no_hook_is_left_on_the_model(classifier: Any, inputs: dict[str, Any]) -> None:
    def hooks() -> int:
        return sum(
            len(module._forward_hooks) + len(module._forward_pre_hooks)
            for module in classifier.modules()
        )

    before, plain = hooks(), classifier(**inputs).logits
    swept(classifier, models_of(classifier, 7), inputs)
    assert hooks() == before
    assert torch.equal(classifier(**inputs).logits, plain)
    failing = locate(classifier, Site("tokens", 2)).module.register_forward_hook(fail)
    with pytest.raises(ZeroDivisionError):
        swept(classifier, models_of(classifier, 7), inputs)
    failing.remove()
    assert hooks() == before


def fail(*_: Any) -> None:
    raise ZeroDivisionError


def test_what_enters_the_last_layers_are_the_hidden_states(
    classifier: Any, inputs: dict[str, Any]
) -> None:
    before, last = enter(classifier, inputs)
    states = classifier(**inputs, output_hidden_states=True).hidden_states
    assert torch.equal(before.hidden, states[1])
    assert torch.equal(last.hidden, states[2])
    assert torch.equal(last.rerun(last.hidden), states[3])


def test_a_head_reads_position_zero_as_the_model_does(
    classifier: Any, inputs: dict[str, Any]
) -> None:
    out = classifier(**inputs, output_hidden_states=True)
    logits = logits_of(classifier, out.hidden_states[-1][:, 0])
    assert float((logits - out.logits).abs().max()) <= ALIKE


def test_half_precision_stays_near(inputs: dict[str, Any]) -> None:
    model = build("bert").to(torch.bfloat16)
    models = models_of(model, 9)
    expected = naive(model, models, inputs).float()
    logits = swept(model, models, inputs).float()
    # bfloat16 has eight bits: two ways of computing differ by some units of the last
    assert float((logits - expected).abs().max()) <= 16 * 2**-8 * float(expected.abs().max())


@pytest.mark.parametrize("purpose", ["MaskedLM", "Model", "TokenClassification"])
def test_models_without_a_head_that_reads_position_zero(purpose: str) -> None:
    with pytest.raises(WordbiasError, match="expected a model with a head for NextSentence"):
        Forward(build("bert", purpose), Plan.of({"Base": []}, Site("cls", 3)))


def test_subspaces_of_another_width_are_refused() -> None:
    model = build("bert")
    wide = Intervention(Site("cls", 3), Subspace(np.eye(5)[:1], np.ones(1)))
    with pytest.raises(WordbiasError, match="vectors of 16 values there, the subspace is of 5"):
        Forward(model, Plan.of({"a": [wide]}, Site("cls", 3)))
