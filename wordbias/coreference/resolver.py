"""A coreference model, an encoder and the head that ranks spans: made, stored, loaded, called."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

import torch

from wordbias.arguments import accepted
from wordbias.coreference.documents import Clusters, Document
from wordbias.coreference.model import BATCH, Settings, SpanRanker, clusters_of
from wordbias.coreference.segments import Segmented, Segmenter
from wordbias.devices import native_threads
from wordbias.errors import UsageError, WordbiasError
from wordbias.formats.stored import COREFERENCE, COREFERENCE_SETTINGS, reading, write
from wordbias.models.encoder import Encoder
from wordbias.models.model_like import ModelLike, evaluating, in_folder, name_of
from wordbias.progress import progress

_HEAD = "coreference.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class Coreference:
    """A coreference model; called with the tokens of a text it returns clusters.

    Attributes
    ----------
    name
        Its folder, or the name of its encoder.
    encoder
        The encoder, which the ranker contains.
    ranker
        Scores of spans and antecedents.
    segmenter
        Cuts documents into what the encoder reads.

    Examples
    --------
    >>> import wordbias as wb
    >>> resolve = wb.load("coref/")  # doctest: +SKIP
    >>> resolve(["Ann", "saw", "the", "nurse", "when", "she", "left", "."])  # doctest: +SKIP
    (((0, 1), (5, 6)),)
    """

    name: str
    encoder: Encoder
    ranker: SpanRanker
    segmenter: Segmenter

    def __repr__(self) -> str:
        return f"<Coreference model {self.name}>"

    @property
    def settings(self) -> Settings:
        """Size of the model, and what it reads."""
        return self.ranker.settings

    @classmethod
    def new(
        cls, source: ModelLike, settings: Settings, *, seed: int = 0, device: str | None = None
    ) -> Self:
        """Put a new head on a copy of an encoder."""
        with torch.random.fork_rng(devices=[]), in_folder(source) as folder:
            torch.manual_seed(seed)
            encoder = replace(Encoder.load(folder, device=device), name=name_of(source))
            return cls._assembled(encoder.name, encoder, settings)

    @classmethod
    def load(cls, folder: str | Path, *, device: str | None = None) -> Self:
        """Load the folder of a model."""
        file = Path(folder) / COREFERENCE_SETTINGS
        try:
            settings = Settings(**json.loads(file.read_text("utf-8")))
            for field in fields(settings):
                accepted(field.name, str(field.type), getattr(settings, field.name), {}, field.name)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            wrong = f": {error}" if isinstance(error, UsageError) else " cannot be read"
            raise WordbiasError(
                f"{folder}: holds no coreference model: its {COREFERENCE_SETTINGS}{wrong}; train "
                "one with: wordbias coref-train"
            ) from None
        encoder = Encoder.load(str(folder), device=device)
        with reading(Path(folder) / _HEAD, COREFERENCE, "pt") as (tensors, _), torch.no_grad():
            model = cls._assembled(str(folder), encoder, settings)
            for name, parameter in model.ranker.head().items():
                shape, expected = tuple(tensors[name].shape), tuple(parameter.shape)
                if shape != expected:
                    raise WordbiasError(f"{name} has the shape {shape}, expected {expected}")
                parameter.copy_(tensors[name])
        return model

    @classmethod
    def _assembled(cls, name: str, encoder: Encoder, settings: Settings) -> Self:
        segmenter = Segmenter(encoder, settings.segment_length)
        before, after = segmenter.before, segmenter.after
        padding = encoder.tokenizer.pad_token_id or 0
        ranker = SpanRanker(encoder.model, encoder.dim, before, after, padding, settings)
        return cls(name, encoder, ranker.to(encoder.device).eval(), segmenter)

    def with_new_head(self, seed: int) -> Self:
        """Return a model of the same encoder with all above it new, as drawn with a seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self._assembled(self.name, self.encoder, self.settings)

    def write(self, folder: Path) -> None:
        """Write the head and the settings into the folder of the encoder."""
        text = json.dumps(self.settings.to_dict(), indent=2) + "\n"
        (folder / COREFERENCE_SETTINGS).write_text(text, "utf-8")
        write(folder / _HEAD, COREFERENCE, self.ranker.head(), {}, "pt")

    def __call__(self, text: Sequence[str] | Sequence[Sequence[str]]) -> Clusters:
        """Return the clusters of a text.

        Parameters
        ----------
        text
            Tokens of one sentence, or sentences of tokens.

        Returns
        -------
        tuple
            Clusters of spans, each the place of its first token and that after its last, counted
            from 0 over the whole text. No cluster has one mention only.

        Raises
        ------
        WordbiasError
            If there are no tokens.
        """
        if isinstance(text, str):
            raise WordbiasError("expected tokens or sentences of tokens, got a string; split it")
        sentences = [text] if text and isinstance(text[0], str) else text
        document = Document("", tuple(tuple(map(str, sentence)) for sentence in sentences))
        (predicted,) = self.predict([document])
        return predicted.clusters

    def predict(self, documents: Sequence[Document], what: str = "coreference") -> list[Document]:
        """Return documents with the clusters of the model instead of their own."""
        torch.set_num_threads(native_threads())
        predicted = []
        bar = progress(what, len(documents), "document")
        with torch.inference_mode(), evaluating(self.ranker), bar as meter:
            for batch in self._batches(documents):
                vectors = self.ranker.encode([document for _, document in batch])
                for (original, document), x in zip(batch, vectors, strict=True):
                    clusters = clusters_of(self.ranker.rank(x, document))
                    predicted.append(replace(original, clusters=clusters))
                    meter.update(1)
        return predicted

    def _batches(self, documents: Sequence[Document]) -> Iterator[list[tuple[Document, Segmented]]]:
        """Yield documents together until they have enough segments for a pass of the encoder."""
        batch: list[tuple[Document, Segmented]] = []
        for original in documents:
            batch.append((original, self.segmenter.cut(original)))
            if sum(len(document.segments) for _, document in batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
