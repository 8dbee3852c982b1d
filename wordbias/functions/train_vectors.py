"""Training of GloVe and GN-GloVe vectors on text."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wordbias import cells
from wordbias.arguments import check_choice, check_number
from wordbias.calls import public, refuse_given
from wordbias.configuration import current_config, uses
from wordbias.devices import find_device
from wordbias.embedding import Embedding
from wordbias.errors import Interrupted, UsageError, WordbiasError, need
from wordbias.formats import NO_TOKENIZER, check_output, output_format
from wordbias.formats.files import (
    check_new,
    check_outputs,
    locked,
    refuse_same,
    remove_abandoned,
    rename,
)
from wordbias.formats.source import Source, as_bytes
from wordbias.formats.writing import check_rows
from wordbias.glove.cooccurrence import Cooccurrences, count, counting_about
from wordbias.glove.corpus import Corpus
from wordbias.pivot import pivot, values
from wordbias.rendering import Table, how_many
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.results import Row
from wordbias.store import difference
from wordbias.text_files import parse_size, read_text
from wordbias.vocabulary import GN_GLOVE
from wordbias.wordlists import Attribute, GroupsLike

if TYPE_CHECKING:
    import torch

    from wordbias.glove.objectives import Gendered, GloVe, Recipe

Objective = Literal["glove", "gn-glove"]
Distance = Literal["l1", "l2"]
PathLike = str | os.PathLike[str]

_OF_GN_GLOVE = ("groups", "lists", "separation", "lambda_d", "lambda_e", "as_published")
_FEW = 8
"""Pairs below which wordbias debias gn-glove cannot check the last coordinate."""
_SHOWN = 10
"""Epochs in the table."""


@public
@uses("device")
def train_vectors(
    corpus: PathLike | Sequence[PathLike],
    *,
    output: PathLike,
    objective: Objective = "glove",
    vector_size: int = 300,
    epochs: int = 100,
    window: int = 10,
    min_count: int = 50,
    max_vocab: int | None = None,
    cased: bool = False,
    x_max: float = 100.0,
    exponent: float = 0.75,
    lr: float = 0.05,
    groups: GroupsLike | None = None,
    lists: PathLike | None = None,
    separation: Distance = "l1",
    lambda_d: float = 0.8,
    lambda_e: float = 0.8,
    as_published: bool = False,
    counts: PathLike | None = None,
    memory: str = "1GB",
    batch_size: int | None = None,
    seed: int = 0,
) -> Embedding:
    """Train word vectors on the text files ``corpus``, by GloVe or by GN-GloVe.

    GN-GloVe (Zhao et al. 2018) keeps the difference between two groups in the last coordinate, w_g,
    and out of the others, w_a. wordbias debias gn-glove then removes w_g. A text has a sentence or
    a document on each line, in UTF-8, and may be compressed. White space separates its tokens, and
    no window crosses the end of a line. Co-occurrences are counted in bounded memory, on disk. The
    same command resumes an interrupted training after the last whole epoch. A log of every epoch is
    written next to ``output``. The command needs the extra torch.

    Parameters
    ----------
    corpus : path or sequence of path
        The text files.
    output : path
        File for the vectors: .txt, .vec, .bin, .kv or .safetensors.
    objective : str
        Objective of the training: glove or gn-glove.
    vector_size : int
        Number of values of a vector. For gn-glove the last one is w_g.
    epochs : int
        Number of passes through the co-occurrences.
    window : int
        Greatest distance between two tokens that count as co-occurring. At distance k they add 1/k.
    min_count : int
        Least number of occurrences of a word.
    max_vocab : int, optional
        Greatest number of words, the most frequent ones.
    cased : bool
        Keep capital letters; by default the text is lower-cased.
    x_max : float
        A pair of words has full weight from this co-occurrence on.
    exponent : float
        Exponent of the weight of rarer pairs.
    lr : float
        Learning rate.
    groups : name, path or Attribute, optional
        gn-glove: two groups, given by a built-in name or a TOML file with pairs. Their definitional
        and equalising pairs are used.  [default: gender]
    lists : path or fetched name, optional
        gn-glove: folder with male_word_file.txt and female_word_file.txt, in place of ``groups``.
        The words on the same line of both are a pair.
    separation : str
        gn-glove: how w_g separates the groups: l1, as far as its bounds of 1 and -1 allow, or l2,
        towards these two values.
    lambda_d : float
        gn-glove: weight of this separation.
    lambda_e : float
        gn-glove: weight of the term that keeps w_a of neutral words orthogonal to the groups'
        difference.
    as_published : bool
        gn-glove: train as the authors' code does, on their lists (wordbias fetch gn-glove-lists):
        without AdaGrad, all coordinates bounded by 1 and -1, v_g added up over the epochs.
    counts : path, optional
        Folder to keep words and co-occurrences in; further calls on the same corpus reuse it.
        [default: a folder next to ``output``, removed at the end; after an error the next call uses
        it]
    memory : str
        Memory for counting and shuffling, such as 8GB; the vectors need more memory. Counts made
        with another amount are in another order. Kept counts stay as they were made.
    batch_size : int, optional
        Co-occurrences of a step.  [default: enough for the most frequent word to occur ten times in
        a step, with ``as_published`` once]
    seed : int
        Random seed.

    Returns
    -------
    Embedding
        The vectors, the most frequent word first; its ``report`` has the loss of every epoch.

    Raises
    ------
    WordbiasError
        If torch is missing, the corpus is no text or has no frequent words, the groups have no
        pair in it, training diverges, or a file cannot be written.

    Notes
    -----
    Training minimises the sum over all pairs of words that co-occur, X times,

        J = ½ f(X) (w·c + b_w + b_c - log X)² + λ_d (D(w) + D(c)) + λ_e (E(w) + E(c)),

    by AdaGrad as in GloVe's own code. Here f(X) = min(1, (X / x_max)^alpha), w is the vector of the
    word and c that of the context. The written vectors are w + c. For GloVe both λ are zero. For
    GN-GloVe D(w) of a word of the first group is -w_g (l1, with -1 ≤ w_g ≤ 1) or (1 - w_g)² (l2).
    For the second group it is the same of -w_g. E(w) of all other words is (v_g·w_a)². v_g is the
    mean difference of w_a over the pairs, a constant in each step. The paper sums D and E over
    words. Here, as in the authors' code, they count once for each pair of words that co-occur.
    Otherwise their weight would be next to nothing compared with the first term.

    GloVe's code goes through the pairs of words one by one. Here a step is computed for a whole
    batch, from the values before it. With ``batch_size`` 1 the result is that of GloVe's loop. On a
    CPU the same seed and counts give the same result, also after an interruption. Another kind of
    processor gives other last digits. A GPU sums in no fixed order and gives other last digits in
    every run.

    ``as_published`` does what the code of Zhao et al. does. AdaGrad is switched off; this leaves
    gradient descent at a constant rate. Every coordinate is bounded by ±1 after each step. v_g is
    computed once an epoch from word vectors only, added to the one before, and divided by the
    number of listed pairs, found or not. w_g of the word vectors of the groups begins at ±1. The
    steps of D and E come after that of the first term. Batches are ten times smaller. Both λ stay
    0.8, as in the paper and in one version of the code; another version has 0.5 and 0.3.

    References
    ----------
    Pennington, J., Socher, R., & Manning, C. D. (2014). GloVe: Global vectors for word
    representation. EMNLP.

    Zhao, J., Zhou, Y., Li, Z., Wang, W., & Chang, K.-W. (2018). Learning gender-neutral word
    embeddings. EMNLP.

    Examples
    --------
    >>> import wordbias as wb
    >>> vectors = wb.train_vectors(
    ...     "wikipedia.txt.gz", objective="gn-glove", output="gn_glove.txt"
    ... )  # doctest: +SKIP
    >>> w_a = wb.debias(vectors, "gn-glove:drop-last")  # doctest: +SKIP
    """
    how = current_config()
    paths = [corpus] if isinstance(corpus, (str, os.PathLike)) else list(corpus)
    kind = _check_options(output, objective, vector_size, separation, lists, groups, as_published)
    if as_published and groups is None and lists is None:
        lists = GN_GLOVE
    for name, value in (("x-max", x_max), ("lr", lr)):
        check_number(f"--{name}", value, 0, above=True)
    check_number("--exponent", exponent, 0, 1)
    target = Path(output)
    folder = Path(os.path.realpath(f"{target}.counts")) if counts is None else Path(counts)
    checkpoint, log = (
        target.with_name(f"{target.name}.{suffix}") for suffix in ("checkpoint", "log.jsonl")
    )
    beside = {"the checkpoint of -o": checkpoint, "the log of -o": log}
    read = {f"CORPUS {path}": path for path in paths} | {"--groups": groups}
    read |= {f"--lists, {file.name}": file for file in _list_files(lists)}
    check_outputs(beside, {})
    refuse_same({"-o": target, **beside, "--counts": folder}, read)
    try:
        size = parse_size(memory)
    except WordbiasError as error:
        raise WordbiasError(f"--memory: {error}") from None
    text = Corpus.open(paths, cased=cased)
    pairs = _pairs(groups, lists) if objective == "gn-glove" else []
    need("torch", extra="torch", purpose="Training word vectors")
    from wordbias.glove.objectives import Gendered, Recipe
    from wordbias.glove.training import check_checkpoint, train

    chosen = find_device(how.device)
    recipe = Recipe(
        vector_size,
        float(lr),
        float(x_max),
        float(exponent),
        seed,
        float(lambda_d),
        float(lambda_e),
        separation,
    )
    with locked(target):
        check_checkpoint(checkpoint)
        matrix = _counted(
            text,
            folder,
            window,
            min_count,
            max_vocab,
            size,
            kept=counts is not None,
            resumes=checkpoint.exists(),
        )
        words = matrix.vocabulary.words
        check_rows([as_bytes(word) for word in words], np.zeros((len(words), 2), np.float32), kind)
        about: dict[str, Any] = {
            "counts": dict(matrix.about),
            "memory": matrix.memory,
            "objective": objective,
            "as_published": as_published,
            "epochs": epochs,
            **asdict(recipe),
            "device": chosen.type,
        }
        notes: list[str] = []
        gendered = None
        if objective == "gn-glove":
            gendered = Gendered.find(
                pairs,
                matrix.vocabulary.index,
                f"{text.name}: pairs",
                repeated=as_published,
                source="--groups FILE" if lists is None else "--lists FOLDER",
            )
            about["gendered"] = asdict(gendered)
            n_pairs = len(set(gendered.pairs))
            if n_pairs < _FEW:
                notes.append(
                    f"{how_many(n_pairs, 'pair')} found in the corpus; with fewer than {_FEW}, "
                    "wordbias debias gn-glove cannot check w_g"
                )
        model = _untrained(len(words), recipe, gendered, as_published, chosen)
        history = train(
            model,
            matrix,
            epochs=epochs,
            batch=batch_size,
            checkpoint=checkpoint,
            log=log,
            about=about,
        )
        embedding = Embedding(words, model.vectors(), Source(target).stem)
        embedding.save(target, kind)
        _remove(checkpoint, folder if counts is None else None, target)
    rows = [_row(embedding.name, entry) for entry in history]
    facts = {
        "path": text.name,
        "sha256": [corpus_file["sha256"] for corpus_file in matrix.about["corpus"]],
        "tokens": matrix.vocabulary.tokens,
        "distinct": matrix.vocabulary.distinct,
        "words": len(words),
        "cooccurrences": matrix.cells,
    }
    heading = [
        f"{_TITLES[objective]}{', as published' * as_published}: {how_many(len(words), 'word')} × "
        f"{vector_size}, {how_many(epochs, 'epoch')}.",
        f"Corpus: {text.name}: {matrix.vocabulary.tokens:,} tokens, "
        f"{matrix.vocabulary.distinct:,} distinct words, {matrix.cells:,} pairs of frequent words "
        "that co-occur.",
    ]
    if gendered is not None:
        heading.append(
            f"Gendered words found: {len(gendered.first)} and {len(gendered.second)}, in "
            f"{len(gendered.pairs)} of {gendered.listed} pairs."
        )
    report = Report(
        inputs={"corpus": facts},
        rows=rows,
        tables=[_table(rows)],
        heading=heading,
        closing=[f"Written: {target} ({kind})."],
        seed=seed,
        notes=notes,
    )
    return embedding.with_report(report)


_TITLES = {"glove": "GloVe", "gn-glove": "GN-GloVe"}


def _check_options(
    output: PathLike,
    objective: str,
    dim: int,
    distance: str,
    lists: PathLike | None,
    groups: GroupsLike | None,
    as_published: bool,
) -> Any:
    """Refuse what has no effect or cannot be written; return the format of the output."""
    check_choice("--objective", objective, tuple(_TITLES))
    check_choice("--separation", distance, ("l1", "l2"))
    if objective == "glove":
        refuse_given(_OF_GN_GLOVE, "is for --objective gn-glove")
    if lists is not None and groups is not None:
        raise UsageError("--lists and --groups both name the gendered words; give one")
    if as_published and distance != "l1":
        raise UsageError("--as-published: the authors' code has --separation l1 only")
    if objective == "gn-glove" and dim < 2:
        raise UsageError(f"--vector-size: expected 2 or more, one of them for w_g, got {dim}")
    kind = output_format(output)
    if kind == "static-model":
        raise WordbiasError(f"{output}: {NO_TOKENIZER}")
    check_output(output, kind)
    try:
        check_rows([], np.zeros((0, dim), np.float32), kind)
    except WordbiasError as error:
        raise WordbiasError(f"{output}: {error}, or give a higher --vector-size") from None
    return kind


def _pairs(groups: GroupsLike | None, lists: PathLike | None) -> list[tuple[str, str]]:
    """Return the pairs of gendered words, the word of the first group first."""
    if lists is None:
        attribute = Attribute.load(groups)
        pairs = [*attribute.pairs, *attribute.equalise]
        if not pairs:
            raise WordbiasError(
                f"the attribute {attribute.name} has no pairs, which tell its groups apart; "
                'give it some, in a TOML file: [pairs] definitional = [["a", "b"], …]'
            )
        return pairs
    files = _list_files(lists)
    first, second = (_listed_words(file) for file in files)
    if not first or not second:
        raise WordbiasError(f"{files[bool(first)]}: has no words; expected one on each line")
    alone = sorted(first.keys() ^ second.keys())
    if alone:
        has, lacks = files if alone[0] in first else files[::-1]
        raise WordbiasError(
            f"{has}: line {alone[0]}: has a word, and that line of {lacks.name} has none; expected "
            "a pair on each line"
        )
    return [(word, second[line]) for line, word in first.items()]


def _list_files(lists: PathLike | None) -> list[Path]:
    """Return the files of a folder of lists, that of the first group first."""
    if lists is None:
        return []
    folder = Path(located(os.fspath(lists)) or "")
    return [folder / f"{group}_word_file.txt" for group in ("male", "female")]


def _listed_words(file: Path) -> dict[int, str]:
    """Return the words of a list, one on each line, by their lines; some may have none."""
    by_line = {}
    for i, line in enumerate(read_text(file).text.split("\n"), 1):
        words = line.split()
        if len(words) > 1:
            raise WordbiasError(
                f"{file}: line {i}: expected a word, found {len(words)}: {line.strip()!r}; put the "
                "word of each pair on the same line of both files"
            )
        if words:
            by_line[i] = words[0]
    return by_line


def _counted(
    corpus: Corpus,
    folder: Path,
    window: int,
    min_count: int,
    max_vocab: int | None,
    memory: int,
    *,
    kept: bool,
    resumes: bool,
) -> Cooccurrences:
    """Return the co-occurrences of the corpus: those in the folder, or counted into it."""
    # Those of another corpus or other options are refused where they were to be kept, or where a
    # training resumes from them; what a call left that failed is counted anew.
    about = counting_about(corpus, window=window, min_count=min_count, max_vocab=max_vocab)
    if not kept and folder.exists():
        left = Cooccurrences.load(folder)
        if left.kept:
            raise WordbiasError(
                f"{folder}: holds co-occurrences that are kept, and a call without --counts "
                "removes its own at the end; name that folder with --counts, or another output"
            )
        if not resumes and difference(dict(left.about), about) is not None:
            _remove_counts(folder)
    is_new = not folder.exists()
    if is_new:
        check_new(folder)
    with locked(folder) if is_new else nullcontext():  # a complete one may be read-only
        if not folder.exists():
            remove_abandoned(folder.parent, folder.name, 0)
            return count(
                corpus,
                folder,
                window=window,
                min_count=min_count,
                max_vocab=max_vocab,
                memory=memory,
                about=about,
                kept=kept,
            )
    cooccurrences = Cooccurrences.load(folder)
    if kept and not cooccurrences.kept:
        raise WordbiasError(
            f"{folder}: belongs to a call without --counts, which removes it at its end; name "
            "another folder"
        )
    different = difference(dict(cooccurrences.about), about)
    if different is not None and not kept:
        raise WordbiasError(
            f"{folder}: an interrupted training resumes from these co-occurrences, and their "
            f"{different}; give its options, remove its checkpoint, or name another output"
        )
    if different is not None:
        raise WordbiasError(
            f"{folder}: holds co-occurrences that were counted otherwise: their {different}; "
            "remove the folder, or name another one with --counts"
        )
    return cooccurrences


def _untrained(
    words: int, recipe: Recipe, gendered: Gendered | None, as_published: bool, device: torch.device
) -> GloVe:
    """Return a model with its initial values; that of GN-GloVe, if there are gendered words."""
    from wordbias.glove.objectives import GloVe, GNGloVe, PublishedGNGloVe

    try:
        if gendered is None:
            return GloVe(words, recipe, device)
        return (PublishedGNGloVe if as_published else GNGloVe)(words, recipe, gendered, device)
    except (MemoryError, RuntimeError, ValueError) as error:  # torch has a RuntimeError for it
        if not isinstance(error, MemoryError) and not re.search("memory|too big", str(error)):
            raise
        raise WordbiasError(
            f"--vector-size: there is not enough memory to train {words:,} words × {recipe.dim:,}; "
            "give a lower --vector-size or --max-vocab, or a higher --min-count"
        ) from None


def _remove(checkpoint: Path, folder: Path | None, target: Path) -> None:
    """Remove the checkpoint, and the folder of counts if it was not named, of complete vectors."""
    try:
        checkpoint.unlink(missing_ok=True)
        if folder is not None:
            _remove_counts(folder)
    except KeyboardInterrupt:
        raise Interrupted(f"the vectors are complete: {target}") from None


def _remove_counts(folder: Path) -> None:
    """Remove a folder; what a killed process leaves of it is removed by the next call."""
    gone = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    rename(folder, gone)
    shutil.rmtree(gone)


def _row(name: str, entry: dict[str, Any]) -> Row:
    details = {key: value for key, value in entry.items() if key not in ("loss", "seconds")}
    return Row(name, "glove-loss", entry["loss"], details)


def _table(rows: Sequence[Row]) -> Table:
    """Tabulate some epochs, the last among them."""
    step = -(-len(rows) // _SHOWN)
    epoch_rows = [row for row in rows if int(row.details["epoch"]) % step == len(rows) % step]
    terms = (
        ("w_g apart", cells.detail("distance")),
        ("v_g·w_a squared", cells.detail("orthogonality")),
    )
    return pivot("Mean of J_G", epoch_rows, {"epoch": "epoch"}, values("loss", *terms))
