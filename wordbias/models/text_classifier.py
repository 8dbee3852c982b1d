"""Classifiers of texts, of transformers: loading, classes, and what they predict."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from wordbias.arguments import AUTO
from wordbias.errors import WordbiasError, listed
from wordbias.models.families import FAMILIES, LAST, read_by_head
from wordbias.models.loading import LoadedModel, check_padding, load_pretrained
from wordbias.models.model_like import ModelLike, has_head, to_device
from wordbias.models.token_batches import TokenisedTexts
from wordbias.progress import progress

Float32 = NDArray[np.float32]
_UNNAMED = re.compile(r"LABEL_(\d+)")
"""A class that transformers numbered, because nobody named it."""


def load_classifier(source: ModelLike, device: str | None, purpose: str) -> LoadedModel:
    """Load a sequence classifier (extra `contextual`), or take one that is loaded."""
    loaded = load_pretrained(
        "AutoModelForSequenceClassification", source, "a sequence-classification model"
    )
    if loaded.missing:
        raise WordbiasError(
            f"{loaded.name}: is no trained classifier: it lacks {loaded.missing[0]}; give a "
            f"model that was trained for {purpose}"
        )
    check_padding(loaded.tokenizer, loaded.name)
    _check_last_token(loaded)
    if loaded.given and device not in (None, AUTO):
        to_device(loaded.model, device)
        loaded = replace(loaded, device=str(loaded.model.device))
    return loaded.on(device)


def _check_last_token(loaded: LoadedModel) -> None:
    """Refuse a decoder that takes padding for the last token, which its head reads."""
    config = loaded.model.config
    if config.model_type not in FAMILIES or read_by_head(loaded.model) != LAST:
        return
    padding, wanted = config.get_text_config().pad_token_id, loaded.tokenizer.pad_token_id
    if padding != wanted:
        raise WordbiasError(
            f"{loaded.name}: its head reads the last token that is no padding, and pad_token_id in "
            f"its config.json is {padding}, but {wanted} in its tokenizer; write {wanted} there"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TextClassifier(LoadedModel):
    """Sequence classifier of single texts."""

    classes: tuple[str, ...]  # name of the class of each output

    @classmethod
    def load(cls, source: ModelLike, *, device: str | None = None, numbers: bool = False) -> Self:
        """Load a model; see `load_classifier`."""
        if has_head(source):
            from wordbias.models.encoder_head import load_with_head  # imports torch

            loaded = load_with_head(*source, device)
        else:
            loaded = load_classifier(source, device, "classes of texts")
        names = {int(i): str(name) for i, name in loaded.model.config.id2label.items()}
        classes = tuple(names.get(i, f"LABEL_{i}") for i in range(loaded.model.config.num_labels))
        if len(classes) < 2 and not numbers:
            raise WordbiasError(f"{loaded.name}: has one output, a number; give a classifier")
        if len(set(classes)) < len(classes):
            raise WordbiasError(
                f"{loaded.name}: two of its outputs have one name: {listed(classes)}; mend "
                "id2label in its config.json"
            )
        return cls(**vars(loaded), classes=classes)

    def named_for(self, labels: Collection[str], source: str, option: str = "--labels") -> Self:
        """Return the model with the names of the classes as a file spells them."""
        # Outputs that transformers numbered, LABEL_0, are the numbers of the file.
        numbered = [_UNNAMED.fullmatch(name) for name in self.classes]
        for known in (self.classes, tuple(match[1] if match else "" for match in numbered)):
            if set(labels) <= set(known) and all(known):
                return replace(self, classes=known)
        raise WordbiasError(
            f"{self.name}: its classes are {listed(self.classes)}, but {source} has "
            f"{listed(sorted(set(labels)))}; name the column of its classes with {option}, or "
            "rename the classes in id2label of its config.json"
        )

    def probabilities(self, texts: Sequence[str], what: str = "predicting") -> Float32:
        """Return the probability of each class for texts, shape ``(n, classes)``."""
        # Of a model with one output it is the number. Classes that do not exclude each other have
        # probabilities that do not add up to 1. Longer texts are cut. Equal texts are read once.
        several = getattr(self.model.config, "problem_type", None) == "multi_label_classification"
        tokenised = TokenisedTexts.of(self, [(text,) for text in texts], truncate=True)
        probabilities = np.empty((len(tokenised.tokens), len(self.classes)), np.float32)
        with self.predicting(), progress(what, len(tokenised.tokens), "text") as bar:
            for batch in range(len(tokenised.batches)):
                places, inputs = tokenised.inputs(batch)
                logits = self.model(**{name: x.to(self.device) for name, x in inputs.items()})[0]
                values = logits.float()
                if several:
                    values = values.sigmoid()
                elif len(self.classes) > 1:
                    values = values.softmax(-1)
                probabilities[places] = self.finite(values.cpu().numpy())
                bar.update(len(places))
        return probabilities[tokenised.places]
