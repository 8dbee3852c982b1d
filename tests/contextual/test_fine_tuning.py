"""Fine-tuning: what it learns, what stays as it was, and that an interruption changes nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_heads
from interrupted_trainings import interrupted_in
from quick_cases import first_quick

from wordbias.errors import Interrupted, WordbiasError
from wordbias.nli.pairs import LABELS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from wordbias.classifier_training import Recipe, Task  # noqa: E402
from wordbias.contextual.fine_tuning import (  # noqa: E402
    encoder_parameters,
    fine_tune,
    load_headed,
    train_model,
)
from wordbias.contextual.labelled_pairs import (  # noqa: E402
    NEXT,
    LabelledPairs,
)

QUICK = Recipe(epochs=4, batch=8, rate=3e-3, every=4)


def labelled(n: int, names: tuple[str, ...] = LABELS, seed: int = 0) -> LabelledPairs:
    """Pairs whose label is told by one word of the second sentence."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(names), size=n)
    verbs = ["cooked", "slept", "melted"]
    first = ["the man sat .", "a woman was kind .", "the dog ."]
    pairs = [
        (first[int(rng.integers(3))], f"{'very ' * int(rng.integers(4))}{verbs[label]} .")
        for label in labels
    ]
    return LabelledPairs("made", str(seed), names, pairs, labels, "made")


def few(times: int = 1) -> LabelledPairs:
    """Six pairs, fewer than a head has dimensions, so that it can learn them by heart."""
    first = ["the man sat .", "a woman was very kind in the car ."]
    second = ["he cooked .", "she slept and the tea melted .", "her dog is stern ."]
    pairs = [(premise, other) for premise in first for other in second]
    labels = np.tile([0, 1, 2, 1, 2, 0], times)
    return LabelledPairs("few", "0", LABELS, pairs * times, labels, "made")


BY_HEART = Recipe(epochs=15, batch=6, rate=1e-2)


def saved(path: Path, family: str = "bert", purpose: str = "", **options: Any) -> str:
    if purpose:
        return tiny_heads.folder(path, tiny_heads.model(family, purpose, **options))
    model = tiny_heads.model(family, "SequenceClassification")
    return tiny_heads.folder(path, model.base_model)


@pytest.mark.parametrize("family", first_quick(tiny_heads.FAMILIES))
def test_a_new_head_on_every_family_keeps_the_encoder(tmp_path: Path, family: str) -> None:
    name = saved(tmp_path / "encoder", family)
    headed = load_headed("nli", LABELS, name, seed=1)
    assert headed.model.config.id2label == dict(enumerate(LABELS))
    assert headed.places == (0, 1, 2)
    assert "classifier" in headed.missing[0]
    before = transformers.AutoModel.from_pretrained(name).state_dict()
    after = headed.model.base_model.state_dict()
    keys = [key for key in after if "pooler" not in key]
    assert keys
    assert all(torch.equal(before[key], after[key]) for key in keys)
    same, other = (load_headed("nli", LABELS, name, seed=seed).model for seed in (1, 2))
    drawn = next(name for name in headed.missing if "norm" not in name and "weight" in name)
    weights = [dict(model.named_parameters())[drawn] for model in (headed.model, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_bert_has_its_own_head_for_the_next_sentence(tmp_path: Path) -> None:
    name = saved(tmp_path / "bert", "bert", "NextSentencePrediction")
    headed = load_headed("nsp", NEXT, name)
    assert type(headed.model).__name__ == "BertForNextSentencePrediction"
    assert headed.missing == ()
    assert headed.model.config.id2label == {0: "is_next", 1: "not_next"}
    other = load_headed("nsp", NEXT, saved(tmp_path / "electra", "electra"))
    assert type(other.model).__name__ == "ElectraForSequenceClassification"


def test_a_head_for_the_same_labels_is_kept_in_their_order(tmp_path: Path) -> None:
    labels = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}
    name = saved(tmp_path / "nli", "roberta", "SequenceClassification", id2label=labels)
    headed = load_headed("nli", LABELS, name)
    assert (headed.missing, headed.places) == ((), (1, 2, 0))
    assert load_headed("nsp", NEXT, name).missing  # three labels are not two


def test_an_encoder_without_weights_is_refused(tmp_path: Path) -> None:
    name = saved(tmp_path / "bert")
    from safetensors.torch import load_file, save_file

    file = Path(name) / "model.safetensors"
    weights = load_file(file)
    del weights["encoder.layer.0.attention.self.query.weight"]
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(WordbiasError, match=r"no trained weights for bert\.encoder\.layer\.0"):
        load_headed("nli", LABELS, name)
    with pytest.raises(WordbiasError, match="no such folder"):
        load_headed("nsp", NEXT, str(tmp_path / "none"))


def test_an_encoder_with_damaged_weights_is_refused(tmp_path: Path) -> None:
    """Its losses are no numbers either: that is no fault of the learning rate."""
    model = tiny_heads.model("bert", "SequenceClassification")
    with torch.no_grad():
        model.bert.encoder.layer[1].output.dense.weight[2, 3] = torch.inf
    name = tiny_heads.folder(tmp_path / "bert", model)
    with pytest.raises(
        WordbiasError, match=r"weights are damaged: bert\.encoder\.layer\.1\.output"
    ):
        load_headed("nli", LABELS, name)


@pytest.mark.slow
@pytest.mark.parametrize("head_only", [False, True])
def test_it_learns_and_is_what_the_folder_says(tmp_path: Path, head_only: bool) -> None:
    recipe = replace(BY_HEART, rate=2e-2, epochs=40, head_only=True) if head_only else BY_HEART
    dev, folder = few(), tmp_path / "tuned"
    tuned, _ = fine_tune("nli", saved(tmp_path / "m"), few(16), dev, recipe, folder, "cpu")
    assert tuned.accuracy > 0.8  # five of six, or all
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    right = 0
    for (first, second), label in zip(dev.pairs, dev.labels, strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(first, second, return_tensors="pt")).logits[0]
        right += LABELS[label] == model.config.id2label[int(logits.argmax())]
    assert right / 6 == tuned.accuracy
    about = json.loads((folder / "training.json").read_text())
    assert about["dev_accuracy"] == tuned.accuracy
    assert about["train"]["pairs"] == 96
    log = (tmp_path / "tuned.log.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert len(lines) == tuned.rounds.rounds == recipe.epochs
    assert max(line["dev"] for line in lines) == tuned.accuracy
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "tuned", "tuned.log.jsonl"]


def test_head_only_leaves_the_encoder_and_whole_does_not(tmp_path: Path) -> None:
    name = saved(tmp_path / "m", "roberta")
    for head_only in (True, False):
        headed = load_headed("nli", LABELS, name)
        before = [parameter.detach().clone() for parameter in encoder_parameters(headed.model)]
        recipe = replace(QUICK, head_only=head_only, epochs=1)
        train_model(headed, labelled(24), labelled(8, seed=1), recipe)
        pairs = zip(before, encoder_parameters(headed.model), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs) == head_only


@pytest.mark.slow
def test_a_head_with_labels_in_another_order_is_trained_in_it(tmp_path: Path) -> None:
    labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
    name = saved(tmp_path / "m", "bert", "SequenceClassification", id2label=labels)
    dev = few()
    tuned, headed = fine_tune("nli", name, few(16), dev, BY_HEART, tmp_path / "out", "cpu")
    assert tuned.accuracy > 0.8  # five of six, or all
    from wordbias.nli.hugging_face import Classifier
    from wordbias.nli.test_sets import Pair

    judged = Classifier.load(tmp_path / "out", device="cpu")
    assert judged.places == headed.places == (1, 2, 0)
    predicted = judged.probabilities([Pair(*pair) for pair in dev.pairs]).argmax(1)
    assert (predicted == dev.labels).mean() == tuned.accuracy


def weights_of(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(folder / "model.safetensors"))


@pytest.mark.slow
@pytest.mark.parametrize("head_only", [False, True])
def test_an_interrupted_training_ends_as_if_it_had_not_been(
    tmp_path: Path, head_only: bool
) -> None:
    name, recipe = saved(tmp_path / "m"), replace(QUICK, epochs=2, head_only=head_only)
    data, dev = labelled(40), labelled(16, seed=1)
    straight, _ = fine_tune("nli", name, data, dev, recipe, tmp_path / "straight", "cpu")
    expected = pytest.raises(Interrupted, match="resumes after the last evaluation on dev")
    with expected, interrupted_in(1, Task):
        fine_tune("nli", name, data, dev, recipe, tmp_path / "again", "cpu")
    assert (tmp_path / "again.checkpoint").exists()
    assert not (tmp_path / "again").exists()
    with pytest.raises(WordbiasError, match=r"is of another training: its recipe\.rate"):
        fine_tune("nli", name, data, dev, replace(recipe, rate=1.0), tmp_path / "again", "cpu")
    resumed, _ = fine_tune("nli", name, data, dev, recipe, tmp_path / "again", "cpu")
    assert resumed == straight
    weights, other = weights_of(tmp_path / "straight"), weights_of(tmp_path / "again")
    assert all(torch.equal(weights[key], other[key]) for key in weights)
    assert not (tmp_path / "again.checkpoint").exists()


@pytest.mark.slow
def test_a_seed_decides_and_torch_s_random_state_does_not_change(tmp_path: Path) -> None:
    name = saved(tmp_path / "m")
    torch.manual_seed(5)
    state = torch.get_rng_state()
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        recipe = replace(QUICK, epochs=1, seed=seed)
        fine_tune("nli", name, labelled(24), labelled(8, seed=1), recipe, tmp_path / folder, "cpu")
    assert torch.equal(torch.get_rng_state(), state)
    a, b, c = (weights_of(tmp_path / folder) for folder in "abc")
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert not torch.equal(a["classifier.weight"], c["classifier.weight"])


@pytest.mark.slow
def test_bfloat16_trains_too(tmp_path: Path) -> None:
    recipe = replace(QUICK, half=True, epochs=2)
    name = saved(tmp_path / "m")
    tuned, headed = fine_tune(
        "nli", name, labelled(48), labelled(16, seed=1), recipe, tmp_path / "o", "cpu"
    )
    assert 0 <= tuned.accuracy <= 1
    assert {parameter.dtype for parameter in headed.model.parameters()} == {torch.float32}
