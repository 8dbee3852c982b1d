from __future__ import annotations

import json
import string
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest

from wordbias.errors import WordbiasError
from wordbias.stereotypes.crows_pairs import CrowsPair, pair_masks, pair_scores
from wordbias.stereotypes.masked_model import MaskedModel
from wordbias.stereotypes.stereoset import Cluster, blank_masks, blank_scores, published_masks

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_heads import FAMILIES, WORDS, folder, model, tokenizer  # noqa: E402

CLUSTERS = [
    Cluster("1", "nurse", "gender", "The nurse was BLANK.", ("kind", "stern", "cup")),
    Cluster("2", "boy", "gender", "BLANK sat in the car and slept.", ("She", "Boyish", "zebras")),
    Cluster("3", "boy", "gender", "The boy fixed his BLANK", ("hot tea", "car", "melted ice cup")),
]
ODD = [
    Cluster("4", "boy", "gender", "The boy BLANKed in the car.", ("cook", "melt", "ice-cold")),
    Cluster("5", "boy", "gender", "The BLANK cooked and the BLANK sat.", ("boy", "hut", "cup")),
]
"""Text that is written on to the blank, a sign in a word, two blanks."""
PAIRS = [
    CrowsPair("The woman was very kind.", "The man was very kind.", "stereo", "gender"),
    CrowsPair("The nurse slept in the car.", "He slept in his car.", "antistereo", "gender"),
]


@pytest.fixture(params=FAMILIES)
def masked(request: pytest.FixtureRequest, tmp_path: Path) -> MaskedModel:
    return MaskedModel.load(folder(tmp_path, model(request.param, "MaskedLM")))


def log_probability(masked: MaskedModel, ids: list[int], place: int) -> float:
    """Mask one token of a sentence, alone in its batch, and read its probability."""
    inputs = torch.tensor([ids])
    inputs[0, place] = masked.tokenizer.mask_token_id
    with torch.no_grad():
        logits = masked.model(input_ids=inputs).logits[0, place].double()
    return (logits[ids[place]] - logits.exp().sum().log()).item()


def by_hand(masked: MaskedModel, cluster: Cluster, word: str) -> list[float]:
    """Follow StereoSet: what is left of the mask is there, the rest of the word is not."""
    tokenise = masked.tokenizer
    before, _, after = cluster.context.partition("BLANK")
    parts = [tokenise(x, add_special_tokens=False)["input_ids"] for x in (before, word, after)]
    start, end = tokenise.cls_token_id, tokenise.sep_token_id
    logs = []
    for i, token in enumerate(parts[1]):
        ids = [start, *parts[0], *parts[1][:i], token, *parts[2], end]
        logs.append(log_probability(masked, ids, 1 + len(parts[0]) + i))
    return logs


def test_blanks_are_scored_as_by_hand(masked: MaskedModel) -> None:
    logs = [[by_hand(masked, cluster, word) for word in cluster.candidates] for cluster in CLUSTERS]
    assert {len(word) for words in logs for word in words} >= {1, 2, 3}
    likelihood = [[np.mean(word) for word in words] for words in logs]
    np.testing.assert_allclose(blank_scores(masked, CLUSTERS), likelihood, rtol=0, atol=2e-4)


def as_released(masked: MaskedModel, cluster: Cluster, word: str) -> float:
    """Do what StereoSet's dataloader.py and eval_discriminative_models.py do, on texts."""
    tokenise = masked.tokenizer
    for number, part in enumerate(cluster.context.split(" ")):
        if "BLANK" in part:
            place = number
    whole = cluster.context.replace("BLANK", word).split(" ")[place]
    stripped = "".join(letter for letter in whole if letter not in string.punctuation)
    tokens = tokenise.encode(stripped, add_special_tokens=False)
    probabilities = []
    for i in range(len(tokens)):
        text = cluster.context.replace("BLANK", tokenise.decode(tokens[:i]) + tokenise.mask_token)
        ids = torch.tensor([tokenise.encode(text)])
        with torch.no_grad():
            p = masked.model(input_ids=ids).logits.double().softmax(-1)
        first = p[ids == tokenise.mask_token_id][0]
        probabilities.append(first[tokens[i]].item())
    return float(np.mean(probabilities))


def test_as_published_blanks_are_filled_as_by_the_released_code(masked: MaskedModel) -> None:
    clusters = CLUSTERS + ODD
    expected = [
        [as_released(masked, cluster, word) for word in cluster.candidates] for cluster in clusters
    ]
    scores = blank_scores(masked, clusters, as_published=True)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-7)


def test_as_published_a_byte_level_word_has_no_space_before(tmp_path: Path) -> None:
    """RoBERTa's token after a space is another one than the one the released code asks for."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    bpe = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator([" ".join(WORDS)] * 3, 400, 2, show_progress=False)
    vocabulary = {token: i for i, token in enumerate(special)}
    rest = sorted(bpe.get_vocab(), key=bpe.get_vocab().get)
    vocabulary |= {token: i + len(special) for i, token in enumerate(rest)}
    merges = json.loads(bpe.to_str())["model"]["merges"]
    tokenise = transformers.RobertaTokenizerFast(
        vocab=vocabulary, merges=[tuple(merge) for merge in merges], model_max_length=40
    )
    roberta = model("roberta", "MaskedLM", vocab_size=len(vocabulary), pad_token_id=1)
    roberta.save_pretrained(tmp_path)
    tokenise.save_pretrained(tmp_path)
    masked = MaskedModel.load(tmp_path)
    ours = blank_masks(masked.tokenizer, CLUSTERS[0], "kind")
    released = published_masks(masked.tokenizer, CLUSTERS[0], "kind")
    tokens = masked.tokenizer.convert_ids_to_tokens
    assert tokens([mask.token for mask in ours])[0].startswith("Ġ")
    assert not tokens([mask.token for mask in released])[0].startswith("Ġ")
    expected = [
        [as_released(masked, cluster, word) for word in cluster.candidates] for cluster in CLUSTERS
    ]
    scores = blank_scores(masked, CLUSTERS, as_published=True)
    np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-7)


def test_of_several_words_the_released_code_asks_for_the_first_without_signs() -> None:
    tokenise = tokenizer()
    cluster = Cluster("1", "", "", "The BLANK sat.", ("ice-cold tea", "", ""))
    masks = published_masks(tokenise, cluster, "ice-cold tea")
    pieces = tokenise.convert_ids_to_tokens([mask.token for mask in masks])
    assert "".join(pieces).replace("##", "") == "icecold"
    whole = blank_masks(tokenise, cluster, "ice-cold tea")
    assert tokenise.convert_ids_to_tokens([mask.token for mask in whole])[-1] == "tea"


def test_two_blanks_are_masked_alike_and_neither_tells_the_other() -> None:
    tokenise = tokenizer()
    masks = blank_masks(tokenise, ODD[1], "hut")
    assert [tokenise.convert_ids_to_tokens(mask.ids) for mask in masks] == 2 * [
        f"[CLS] the {prefix}[MASK] cooked and the {prefix}[MASK] sat . [SEP]".split()
        for prefix in ("", "h ", "h ##u ")
    ]
    assert [mask.place for mask in masks] == [2, 3, 4, 6, 8, 10]
    assert tokenise.convert_ids_to_tokens([mask.token for mask in masks]) == 2 * ["h", "##u", "##t"]


def test_pairs_are_scored_as_by_hand(masked: MaskedModel) -> None:
    expected = []
    for pair in PAIRS:
        ids = [masked.tokenizer(text)["input_ids"] for text in (pair.more, pair.less)]
        sums = [0.0, 0.0]
        for a, b, size in SequenceMatcher(None, *ids, autojunk=False).get_matching_blocks():
            for k in range(size):
                for side, place in enumerate((a + k, b + k)):
                    if 0 < place < len(ids[side]) - 1:  # neither [CLS] nor [SEP]
                        sums[side] += log_probability(masked, ids[side], place)
        expected.append(sums)
    np.testing.assert_allclose(pair_scores(masked, PAIRS), expected, rtol=0, atol=2e-3)


def test_one_sub_word_after_the_other_is_masked() -> None:
    tokenise = tokenizer()
    cluster = Cluster("1", "", "", "The BLANK sat.", ("hut", "", ""))
    masks = blank_masks(tokenise, cluster, "hut")
    assert [tokenise.convert_ids_to_tokens(mask.ids) for mask in masks] == [
        ["[CLS]", "the", "[MASK]", "sat", ".", "[SEP]"],
        ["[CLS]", "the", "h", "[MASK]", "sat", ".", "[SEP]"],
        ["[CLS]", "the", "h", "##u", "[MASK]", "sat", ".", "[SEP]"],
    ]
    assert [tokenise.convert_ids_to_tokens(mask.token) for mask in masks] == ["h", "##u", "##t"]
    assert [mask.place for mask in masks] == [2, 3, 4]


def test_only_what_both_sentences_share_is_masked() -> None:
    tokenise = tokenizer()
    more, less = pair_masks(tokenise, PAIRS[0])
    words = [[tokenise.convert_ids_to_tokens(mask.token) for mask in side] for side in (more, less)]
    assert words[0] == words[1] == ["the", "was", "very", "kind", "."]
    assert all("man" in tokenise.convert_ids_to_tokens(mask.ids) for mask in less)


def test_equal_sentences_have_equal_scores(tmp_path: Path) -> None:
    masked = MaskedModel.load(folder(tmp_path, model("bert", "MaskedLM")))
    same = CrowsPair("The nurse slept.", "The nurse slept.", "stereo", "gender")
    ((more, less),) = pair_scores(masked, [same])
    assert more == less < 0


def test_a_blank_that_vanishes_is_refused() -> None:
    cluster = Cluster("c7", "", "", "The BLANK sat.", ("\u200b", "", ""))
    tokenise = tokenizer()
    with pytest.raises(WordbiasError, match=r"intrasentence c7: the tokenizer has no token for"):
        blank_masks(tokenise, cluster, "\u200b")
    with pytest.raises(WordbiasError, match=r"no token for '\?\?'; leave the item out"):
        published_masks(tokenise, cluster, "??")


@pytest.mark.parametrize("purpose", ["SequenceClassification", "NextSentencePrediction"])
def test_a_model_without_such_a_head(tmp_path: Path, purpose: str) -> None:
    name = folder(tmp_path, model("bert", purpose))
    with pytest.raises(WordbiasError, match=r"has no trained masked-language head \(it lacks "):
        MaskedModel.load(name)


def test_a_tokenizer_without_a_mask(tmp_path: Path) -> None:
    name = folder(tmp_path, model("bert", "MaskedLM"))
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models

    plain = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    for file in tmp_path.glob("*token*"):
        file.unlink()
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]").save_pretrained(
        tmp_path
    )
    with pytest.raises(WordbiasError, match="its tokenizer has no mask; masking words needs"):
        MaskedModel.load(name)


def test_a_sentence_that_is_too_long(tmp_path: Path) -> None:
    masked = MaskedModel.load(folder(tmp_path, model("bert", "MaskedLM")))
    long = Cluster("1", "", "", "the dog " * 20 + "BLANK", ("sat", "slept", "cup"))
    with pytest.raises(WordbiasError, match="reads at most 40 tokens; a sentence has 43: "):
        blank_scores(masked, [long])


def test_damaged_weights(tmp_path: Path) -> None:
    masked = MaskedModel.load(folder(tmp_path, model("bert", "MaskedLM")))
    with torch.no_grad():
        next(masked.model.parameters()).fill_(float("nan"))
    with pytest.raises(WordbiasError, match="its weights are damaged"):
        blank_scores(masked, CLUSTERS)
