"""Which texts a model prefers: stereotypes or their opposites."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast

from wordbias.arguments import check_number
from wordbias.calls import path_of, public, refuse_given
from wordbias.configuration import current_config, uses
from wordbias.errors import UsageError
from wordbias.formats.files import check_outputs
from wordbias.functions.adapters import AdapterLike, open_adapter
from wordbias.functions.inputs import check_records
from wordbias.functions.likelihood_decoder import Items, about_decoder, measure_decoder
from wordbias.functions.likelihood_encoder import measure_encoder
from wordbias.models.causal_model import CausalModel
from wordbias.models.loading import is_causal
from wordbias.models.model_like import ModelLike, name_of
from wordbias.models.perplexity import LENGTH
from wordbias.models.sentence_pairs import SentencePairsLike, sentence_pairs
from wordbias.reports import Report
from wordbias.resources import located
from wordbias.stereotypes.scores import SHARE, Rounding, Settings
from wordbias.stereotypes.text_sets import TextSetLike, for_model, load_text_set
from wordbias.text_files import read_text

PathLike = str | os.PathLike[str]
_OF_ENCODERS = ("top", "rounding", "absolute", "next_label")
_OF_DECODERS = ("pairs", "perplexity", "bos", "max_length", "precision")


@public
@uses("device", "precision")
def likelihood(
    model: ModelLike,
    *,
    data: TextSetLike | Sequence[TextSetLike] = (),
    pairs: SentencePairsLike | None = None,
    perplexity: PathLike | None = None,
    adapter: AdapterLike | None = None,
    setting: str | Sequence[str] = (),
    force: bool = False,
    as_published: bool = False,
    top: float = SHARE,
    rounding: Rounding = "nearest",
    absolute: bool = False,
    next_label: str | None = None,
    bos: bool = True,
    max_length: int | None = None,
    output: PathLike | None = None,
    seed: int = 0,
) -> Report:
    """Measure which texts ``model`` prefers: stereotypes or their opposites.

    ``data`` are published data sets, recognised by their content. The head of ``model`` decides
    which of them can be scored, and how:

      next sentence  enhanced StereoSet, StereoSet between sentences
      masked words   StereoSet within sentences, CrowS-Pairs
      next word      (a decoder, such as GPT-2, Llama or SmolLM) CrowS-Pairs,
                     StereoSet within sentences, WinoBias, Winogender, BBQ

    A decoder also takes ``pairs``, counterfactual texts of your own, and ``perplexity``, the cost.
    Each of its texts has two scores: its log-likelihood, and the mean over its tokens.

    With ``adapter`` the same items are measured again after each ``setting`` of it is removed. For
    a decoder the answer says what changed and at what cost. With ``output`` the same call resumes
    an interrupted one.

    Parameters
    ----------
    model : path, name on the hub, or (model, tokenizer)
        The model to measure; a loaded model has only one head.
    data : path, fetched name, frame, or what was read of one, or several
        A file or folder of one of the data sets; may be repeated.
    pairs : path or sequence of (first, second), optional
        For a decoder: pairs of texts, separated by a tab, or a TOML file.
    perplexity : path, optional
        For a decoder: text to measure the perplexity on.
    adapter : path or Adapter, optional
        Adapter that wordbias project wrote; the model is measured with it as well.
    setting : str or sequence of str, optional
        With ``adapter``: its setting to remove, such as L11-11101 or tokens@3; may be repeated.
        [default: the one stored in the adapter]
    force : bool
        With ``adapter``: use it even if it was fitted on another model.
    as_published : bool
        Score as the published programs do. Ties count 0. For StereoSet the terms are averaged, and
        a blank is scored by its first word (an encoder), or with BOS before the first token only (a
        decoder).
    top : float
        For enhanced StereoSet: S and D are means over this share of the triples, the most extreme
        ones.
    rounding : str
        Rounding of that share to a number of triples: nearest, down or up.
    absolute : bool
        Take |s| for S: bias in either direction.
    next_label : str, optional
        Name of the classifier's output that means "is next".  [default: as its config says]
    bos : bool
        For a decoder: put the BOS token before texts without a context. Without it their first
        token is not scored.
    max_length : int, optional
        For a decoder: maximum number of tokens that it reads.  [default: what it can; 1,024 for
        ``perplexity``]
    output : path, optional
        File for the scores of each item (CSV).
    seed : int
        Seed of everything random.

    Returns
    -------
    Report
        A row for each measure, part of the data and score. ``low`` and ``high`` are its interval:
        Wilson's for a share, else a bootstrap over triples, pairs, occupations or templates. For a
        decoder, ``stage`` names the setting that is removed, and ``change`` is the change from the
        row before. ``change_low`` and ``change_high`` are its interval, a bootstrap over the same
        items.

    Raises
    ------
    WordbiasError
        If a file cannot be used, the model lacks the head that the data need, or a text is longer
        than it can read. Also if the adapter is of another model or changes no score.

    Notes
    -----
    In enhanced StereoSet (Dawkins et al. 2024) every triple also has a version with swapped
    genders. Its scores are the strength S of stereotypes, the distance D between the genders, and
    the stereotype score SS. StereoSet gives ss, lms and icat. CrowS-Pairs gives the share of pairs
    in which the more stereotyping sentence is likelier.

    The texts of a decoder are scored as lm-evaluation-harness does, where it has the task, and as
    their authors do. A text without a context follows the BOS token, or EOS if the tokenizer has no
    BOS. A context that is too long is cut at its beginning.

    With ``as_published`` an encoder scores a blank by the mean probability of its first word,
    without punctuation and tokenised separately.

    References
    ----------
    Nadeem et al. (2021), "StereoSet: Measuring stereotypical bias in pretrained language models".
    Nangia et al. (2020), "CrowS-Pairs: A Challenge Dataset for Measuring Social Biases in Masked
    Language Models". Dawkins et al. (2024), "Projective Methods for Mitigating Gender Bias in
    Pre-trained Language Models", section 2. Gao et al. (2024), "The Language Model Evaluation
    Harness", v0.4.3; compared with 0.4.13. Zhao et al. (2018), "Gender Bias in Coreference
    Resolution" (WinoBias). Rudinger et al. (2018), "Gender Bias in Coreference Resolution"
    (Winogender). Parrish et al. (2022), "BBQ: A Hand-Built Bias Benchmark for Question Answering".

    Examples
    --------
    >>> import wordbias as wb
    >>> report = wb.likelihood("gpt2", data="crows_pairs_anonymized.csv")  # doctest: +SKIP
    >>> report["crows"][0].value  # doctest: +SKIP
    """
    how = current_config()
    given: list[TextSetLike] = (
        list(data) if isinstance(data, (list, tuple)) else [cast("TextSetLike", data)]
    )
    if not given and pairs is None and perplexity is None:
        raise UsageError("nothing to measure: give --data, --pairs or --perplexity")
    check_number("--top", top, 0, 1, above=True)
    if max_length is not None:
        check_number("--max-length", max_length, 2)
    target = path_of(output)
    read = {"--pairs": pairs, "--perplexity": perplexity, "--adapter": adapter}
    for source in [None, *given]:
        check_outputs({"-o": target}, {**read, "--data": source})
    check_records(target)
    opened = open_adapter(adapter, setting, force=force)
    settings = Settings(top, rounding, absolute, as_published, seed, repair=True)
    sets = [load_text_set(given_set, as_published=as_published) for given_set in given]
    own = None if pairs is None else sentence_pairs(pairs)
    text = None if perplexity is None else read_text(located(os.fspath(perplexity)))
    name = name_of(model)
    if not is_causal(model):
        refuse_given(_OF_DECODERS, f"is for a model that is a decoder, and {name} is an encoder")
        sets = [for_model(text_set, name, causal=False) for text_set in sets]
        return measure_encoder(
            model, sets, settings, opened,
            next_label=next_label, device=how.device, target=target,
        )  # fmt: skip
    refuse_given(_OF_ENCODERS, f"is for a model that is an encoder, and {name} is a decoder")
    sets = [for_model(text_set, name, causal=True) for text_set in sets]
    items = Items(sets, own, text, settings, max_length or LENGTH)
    decoder = CausalModel.load(
        model,
        device=how.device,
        precision=None if opened.adapter is not None else how.precision,
        max_length=max_length,
        bos=bos,
    )
    inputs = {"model": about_decoder(decoder), **items.about(path_of(pairs) or "given")}
    if opened.adapter is not None:  # compared as it is stored: float16 rounds small weights away
        opened.check(decoder.model)
        decoder = decoder.on(how.device, how.precision)
        inputs |= {"model": about_decoder(decoder), **opened.about()}
    return measure_decoder(decoder, items, opened, inputs, target)
