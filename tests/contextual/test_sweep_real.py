"""On a real classifier, all settings at once are what whole passes with hooks are.

``WORDBIAS_CLASSIFIER`` names the folder of an NLI or next-sentence model, such as `wordbias
fine-tune` writes it.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from wordbias.contextual.fitting import fit_adapter  # noqa: E402
from wordbias.contextual.sweep.forward import (  # noqa: E402
    Forward,
    Plan,
    one_by_one,
)
from wordbias.contextual.sweep.sweep import models_of  # noqa: E402
from wordbias.models.loading import load_pretrained  # noqa: E402
from wordbias.models.sentence_pairs import sentence_pairs  # noqa: E402
from wordbias.models.sites import read_site  # noqa: E402
from wordbias.models.token_batches import TokenisedTexts  # noqa: E402
from wordbias.nli.test_sets import build  # noqa: E402


def test_every_setting_of_a_real_model() -> None:
    folder = os.environ.get("WORDBIAS_CLASSIFIER")
    if not folder:
        pytest.skip("set WORDBIAS_CLASSIFIER to the folder of a classifier of sentence pairs")
    loaded = load_pretrained("AutoModelForSequenceClassification", folder, "a classifier")
    model, tokenizer = loaded.model.eval().float(), loaded.tokenizer
    adapter = fit_adapter(model, tokenizer, sentence_pairs())
    plan = Plan.of(models_of(adapter), read_site(model))
    pairs = [tuple(pair) for pair in list(build("explicit"))[::300]]
    pairs = TokenisedTexts.of(loaded, pairs, truncate=False)
    forward = Forward(model, plan)
    with torch.inference_mode():
        for batch in range(len(pairs.batches)):
            _, inputs = pairs.inputs(batch)
            logits, expected = forward(inputs)[0], one_by_one(model, plan, inputs, ())[0]
            np.testing.assert_allclose(logits.numpy(), expected.numpy(), rtol=0, atol=1e-5)
    assert len(plan.names) == 75
