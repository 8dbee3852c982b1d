"""`wordbias project` with labelled texts, in decoders and encoders, through its entry point."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quick_cases import first_quick  # noqa: E402
from tiny_decoders import build_decoder, word_tokenizer  # noqa: E402
from tiny_encoders import build, make_tokenizer, save, words_of  # noqa: E402

import wordbias as wb  # noqa: E402
from wordbias.models.sentence_pairs import sentence_pairs  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
Run = Callable[..., Any]
Refused = Callable[..., str]
PLACES = ("house", "office", "school", "street", "garden")
VERBS = ("left", "found", "saw", "made", "built", "kept", "lost", "sold")
TEXTS = [
    (f"{who} {verb} the {place}", label, "a" if place < "o" else "b")
    for verb in VERBS
    for place in PLACES
    for who, label in (("she often", "F"), ("the man", "M"))
]
ALL_STREAM = "input@1,attention-output@all,mlp-output@all"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with decoders, encoders, and labelled texts."""
    folder = tmp_path_factory.mktemp("project-labels")
    lines = [f"{text}\t{label}\t{part}" for text, label, part in TEXTS]
    (folder / "texts.tsv").write_text("text\tgender\tpart\n" + "\n".join(lines) + "\n")
    paired = [text for pair in sentence_pairs() for text in pair]
    tokenizer = word_tokenizer(*(text for text, _, _ in TEXTS), *paired)
    for family in ("llama", "gpt2"):
        # a vocabulary as large as the tokenizer's, so that no token is without a row
        save(build_decoder(family, len(tokenizer)), tokenizer, folder / family)
    words = make_tokenizer(words_of(*(text for text, _, _ in TEXTS), *paired))
    for family in ("bert", "mpnet", "albert"):
        save(build(family, "Model", vocabulary=len(words)), words, folder / family)
    return folder


def given(data: Path, model: str, *more: object) -> tuple[object, ...]:
    return ("project", data / model, "--texts", data / "texts.tsv", "--labels", "gender", *more)


@pytest.fixture
def adapter(cli: Run, data: Path) -> Callable[..., Path]:
    """Return a function that fits an adapter to a model by the command, each once."""

    def fit(family: str, *more: object) -> Path:
        path = data / "-".join(map(str, ("adapter", family, *more)))
        if not path.exists():
            done = cli(*given(data, family, *more, "-o", path))
            assert done.code == 0, done.err
            path.with_name(f"{path.name}.said").write_text(" ".join(done.out.split()))
        return path

    return fit


def loaded(folder: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def apart(model: Any, tokenizer: Any) -> list[float]:
    """Return by layer how far apart the means of the tokens of the two classes are, relatively."""
    texts, labels, _ = zip(*TEXTS, strict=True)
    with torch.no_grad():  # texts of equally many tokens, without padding
        out = model(**tokenizer(list(texts), return_tensors="pt"), output_hidden_states=True)
    rows = torch.stack(out.hidden_states).double()
    first, second = (
        rows[:, [label == text_label for text_label in labels]].flatten(1, 2)
        for label in ("F", "M")
    )
    scale = torch.cat([first, second], 1).std(1).norm(dim=-1)
    return list(((first.mean(1) - second.mean(1)).norm(dim=-1) / scale).tolist())


@pytest.mark.each_once("method")
@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("method", ["leace", "hard"])
def test_the_means_of_the_classes_are_equal_at_every_layer(
    report: Run, data: Path, tmp_path: Path, family: str, method: str
) -> None:
    output = tmp_path / "a"
    outcome = report(*given(data, family, "--methods", method, "-o", output))
    rows = {(row["site"], row["stage"]): row for row in outcome["rows"]}
    assert [*rows] == [(f"tokens@{i}", stage) for i in (1, 2) for stage in ("before", "after")]
    for (_, stage), row in rows.items():
        assert (row["measure"], row["n"]) == ("label-explained", 5 * len(TEXTS))
        assert (row["neutral"], row["better"]) == (0.0, "lower")
        assert 0.01 < row["value"] < 1 if stage == "before" else row["value"] < 1e-9
    assert outcome["inputs"]["texts"]["classes"] == {"F": 40, "M": 40}
    adapter, (model, tokenizer) = wb.load(output), loaded(data / family)
    plain = apart(model, tokenizer)
    with adapter.on(model):
        removed = apart(model, tokenizer)
    assert min(plain) > 0.05
    assert max(removed[1:]) < 1e-5


def test_removals_fitted_apart_leave_what_earlier_ones_uncover(
    report: Run, data: Path, tmp_path: Path
) -> None:
    """Fitted on the unmodified model each is exact by itself, but not after the first."""
    simultaneous = report(*given(data, "llama", "--simultaneous", "-o", tmp_path / "a"))
    alone = report(*given(data, "llama", "--sites", "tokens@2"))
    assert simultaneous["rows"][2:] == alone["rows"]
    model, tokenizer = loaded(data / "llama")
    with wb.load(tmp_path / "a").on(model):
        left = apart(model, tokenizer)
    assert left[1] < 1e-5 < 1e-3 < left[2]


@pytest.mark.parametrize("family", first_quick(["llama", "gpt2"]))
def test_generation_is_the_same_with_and_without_the_cache(
    adapter: Callable[..., Path], data: Path, family: str
) -> None:
    removal, (model, tokenizer) = wb.load(adapter(family)), loaded(data / family)
    x = tokenizer("she often left", return_tensors="pt")
    how = {
        "max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "output_scores": True,
        "return_dict_in_generate": True,
    }  # fmt: skip
    with removal.on(model):
        cached, whole = (model.generate(**x, **how, use_cache=use) for use in (True, False))
    plain = model.generate(**x, **how)
    assert torch.equal(cached.sequences, whole.sequences)
    for scores, other in zip(cached.scores, whole.scores, strict=True):
        torch.testing.assert_close(scores, other, atol=1e-4, rtol=1e-4)
    assert (plain.scores[0] - cached.scores[0]).abs().max() > 1e-3


@pytest.mark.parametrize("family", first_quick(["gpt2", "llama"]))
def test_an_exported_decoder_has_its_head_and_predicts_as_with_hooks(
    cli: Run, adapter: Callable[..., Path], data: Path, tmp_path: Path, family: str
) -> None:
    fitted = adapter(family, "--methods", "hard", "--sites", ALL_STREAM)
    done = cli("apply", fitted, data / family, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    sites = "input@1, attention-output@1..2, mlp-output@1..2"
    assert f"Written: {tmp_path / 'out'}, with {sites} in its weights" in text
    assert "Not folded" not in text
    model, tokenizer = loaded(data / family)
    exported, _ = loaded(tmp_path / "out")
    assert type(exported) is type(model)
    x = tokenizer("she often left the house", return_tensors="pt")
    with torch.no_grad():
        plain = model(**x).logits
        with wb.load(fitted).on(model):
            hooked = model(**x).logits
        torch.testing.assert_close(exported(**x).logits, hooked, atol=1e-4, rtol=1e-4)
    assert (hooked - plain).abs().max() > 1e-3


def test_what_cannot_be_folded_is_not_written(
    refused: Refused, adapter: Callable[..., Path], data: Path, tmp_path: Path
) -> None:
    def said(family: str) -> str:
        return refused("apply", adapter(family), data / family, "-o", tmp_path / "out")

    of_decoder = said("llama")
    assert "nothing of tokens@1..2 can be folded into the weights" in of_decoder
    assert "that is removed at input@1, attention-output@all and mlp-output@all" in of_decoder
    assert "the linear map that it goes into has no bias" in of_decoder
    assert "residual connection" in said("bert")
    assert not (tmp_path / "out").exists()


def test_python_writes_the_file_of_the_command(cli: Run, data: Path, tmp_path: Path) -> None:
    assert cli(*given(data, "llama", "--where", "part=a", "-o", tmp_path / "a")).code == 0
    labelled = [(text, label) for text, label, part in TEXTS if part == "a"]
    texts, labels = zip(*labelled, strict=True)
    adapter = wb.project(
        data / "llama", texts=data / "texts.tsv", labels="gender", where={"part": "a"}
    )
    adapter.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert adapter.chosen == "tokens@1..2"
    by_hand = wb.project(loaded(data / "llama"), texts=texts, labels=labels)
    for site, step in adapter.steps.items():
        np.testing.assert_array_equal(step.bias, by_hand.steps[site].bias)
    assert adapter.report is not None
    assert "label" in adapter._repr_html_() or "gender" in adapter._repr_html_()


def test_the_table_and_the_command_that_measures_other_texts(
    cli: Run, data: Path, tmp_path: Path
) -> None:
    """The closing line names a call of probe, which runs with other texts."""
    sites = "tokens@all,mlp-output@2"
    done = cli(*given(data, "gpt2", "--sites", sites, "-o", tmp_path / "a"))
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 100 or any(str(tmp_path) in line for line in lines)
    (heads,) = (line.split() for line in lines if line.split()[:1] == ["layer"])
    assert heads == ["layer", "mlp-output", "tokens"]
    assert any(line.split()[:2] == ["1", "–"] for line in lines)
    text = " ".join(done.out.split())
    assert "after leace 0 by construction" in text
    call = text.split("before and after: wordbias ")[-1].split()
    call[call.index("OTHERS")] = str(data / "texts.tsv")
    assert call[:2] == ["probe", str(data / "gpt2")]
    probed = cli(*call, "--accuracy", "--seed", "0", "--layers", "last", "--epochs", "1")
    assert probed.code == 0, probed.err
    assert "before and after" in probed.out


def test_a_part_of_the_sites_and_cut_texts_are_noted(cli: Run, data: Path, tmp_path: Path) -> None:
    more = ("--setting", "tokens@2", "-o", tmp_path / "a", "--limit", 60)
    done = cli(*given(data, "llama", *more))
    assert done.code == 0
    assert "tokens@2: is a part of removals that were fitted one after another" in done.err
    assert wb.load(tmp_path / "a").chosen == "tokens@2"
    more = ("--simultaneous", "--setting", "tokens@2", "-o", tmp_path / "b")
    assert "one after another" not in cli(*given(data, "llama", *more)).err
    long = tmp_path / "long.tsv"
    rows = [f"{'she ' * 90}left\tF", *(f"{text}\t{label}" for text, label, _ in TEXTS)]
    long.write_text("text\tgender\n" + "\n".join([*rows, "the man"]) + "\n")
    call = ("project", data / "gpt2", "--texts", long, "--labels", "gender", "--skip-bad")
    done = cli(*call)
    assert done.code == 0
    assert "1 row dropped, the first: line 83" in done.err
    assert "cut to 64 tokens: 1 of 81 texts" in done.err


def test_few_tokens_for_the_dimensions_are_noted(cli: Run, data: Path) -> None:
    """Of 16 dimensions 160 tokens are enough, and 32 texts of five tokens have as many."""
    done = cli(*given(data, "llama", "--limit", 31))
    assert done.code == 0
    expected = (
        "155 tokens are few for 16 dimensions: a linear map fitted to them explains about 10 %"
    )
    assert expected in done.err
    assert "fit to 160 or more, with more texts" in done.err
    assert "are few for" not in cli(*given(data, "llama", "--limit", 32)).err
    warning = cli(*given(data, "bert", "--tokens", "mean", "--limit", 11)).err
    assert "11 vectors are few for" in warning
    assert "about 100 % of random labels" in warning
    pairs = data / "pairs.tsv"
    pairs.write_text("".join(f"she {verb}\tthe man {verb}\n" for verb in VERBS))
    warning = cli("project", data / "gpt2", "--pairs", pairs).err
    assert "40 tokens are few" in warning
    assert "with more pairs, or --texts and --labels" in warning


def test_what_a_removal_costs_a_decoder_is_named(
    cli: Run, adapter: Callable[..., Path], data: Path, tmp_path: Path
) -> None:
    out = Path(f"{adapter('llama')}.said").read_text()
    call = out.split("the language: wordbias ")[1].split(" These are")[0].split()
    text = tmp_path / "text.txt"
    text.write_text("she often left the house and the man found the street\n")
    measured = cli(*(text if word == "TEXT" else word for word in call))
    assert measured.code == 0, measured.err
    assert "perplexity" in measured.out
    assert "wordbias likelihood" not in Path(f"{adapter('bert')}.said").read_text()


def test_rows_without_a_label_are_dropped_on_request(
    cli: Run, adapter: Callable[..., Path], data: Path, tmp_path: Path
) -> None:
    blank = tmp_path / "blank.tsv"
    rows = [f"{text}\t{label}" for text, label, _ in TEXTS]
    gaps = ["the house\t", *rows, "the street\t ", " \tF"]
    blank.write_text("\n".join(["text\tgender", *gaps]) + "\n")
    call = ("project", data / "llama", "--texts", blank, "--labels", "gender", "--skip-bad")
    done = cli(*call, "-o", tmp_path / "a")
    assert "3 rows dropped, the first: line 2: has no gender" in done.err
    dropped, whole = wb.load(tmp_path / "a"), wb.load(adapter("llama"))
    for site, step in whole.steps.items():
        np.testing.assert_array_equal(step.bias, dropped.steps[site].bias)
        np.testing.assert_array_equal(step(np.eye(16)), dropped.steps[site](np.eye(16)))


def test_weights_with_a_part_of_a_sequence_are_noted(cli: Run, data: Path, tmp_path: Path) -> None:
    call = given(data, "llama", "--methods", "hard", "-o", tmp_path / "a")
    assert cli(*call).code == 0
    done = cli("apply", tmp_path / "a", data / "llama", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "out: tokens@2: is a part of removals that were fitted one after another" in done.err
    assert cli(*call, "--simultaneous").code == 0
    done = cli("apply", tmp_path / "a", data / "llama", "-o", tmp_path / "apart")
    assert done.code == 0, done.err
    assert "one after another" not in done.err
    assert "Not folded, tokens@1" in done.out


def test_encoders(report: Run, data: Path, tmp_path: Path) -> None:
    for family in ("bert", "mpnet"):
        outcome = report(*given(data, family, "--tokens", "mean"))
        assert {row["site"] for row in outcome["rows"]} == {f"tokens@{i}" for i in (1, 2, 3)}
        assert {row["n"] for row in outcome["rows"]} == {len(TEXTS)}
    outcome = report(*given(data, "bert", "--sites", "cls@-1", "--methods", "mhd:dims=1"))
    assert [row["site"] for row in outcome["rows"]] == ["cls@3", "cls@3"]


def test_pairs_in_a_decoder(cli: Run, report: Run, data: Path, tmp_path: Path) -> None:
    """LEACE of all tokens at all layers by default; or the components of pairs."""
    outcome = report("project", data / "llama", "-o", tmp_path / "default")
    assert {row["measure"] for row in outcome["rows"]} == {"label-explained"}
    fitted = wb.load(tmp_path / "default").facts
    assert (fitted["method"], fitted["tokens"], fitted["sequential"]) == ("leace", "all", True)
    call = ("project", data / "llama", "--methods", "mhd-pairs")
    outcome = report(*call, "-o", tmp_path / "a")
    (note,) = [note for note in outcome["notes"] if "tokens 'mean' at tokens@1" in note]
    assert "only leace on all tokens takes account of it" in note
    variance = [row for row in outcome["rows"] if row["measure"] == "explained-variance"]
    assert [row["site"] for row in variance] == ["tokens@1"] * 2 + ["tokens@2"] * 2
    adapter = wb.load(tmp_path / "a")
    assert (adapter.chosen, dict(adapter.steps)) == ("tokens@1..2", {})
    with safe_open(tmp_path / "a", "np") as file:  # as files before there were labels
        assert "steps" not in json.loads(next(iter(file.metadata().values())))
    pairs = tmp_path / "pairs.tsv"
    sample = sentence_pairs()[:12]
    pairs.write_text("".join(f"{pair.first}\t{pair.second}\n" for pair in sample))
    for tokens in ("word", "last"):
        call = ("project", data / "llama", "--tokens", tokens, "--pairs", pairs)
        assert cli(*call, "--methods", "mhd-pairs").code == 0
        outcome = report(*call, "-o", tmp_path / tokens)
        assert {row["measure"] for row in outcome["rows"]} == {"label-explained"}
        assert wb.load(tmp_path / tokens).facts["tokens"] == tokens


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--where gender=F", "gender needs two classes at least; all are 'F'"),
        ("--labels jender", "neither a column of"),
        ("--text-column body", "has no column 'body'; it has text, gender, part"),
        ("--sites cls@1", "is a decoder; it has input@L, attention-output@L, mlp-output@L"),
        ("--sites tokens@3", "has the layers 1 to 2"),
        ("--sites query@1", "removals are fitted to labels at input@L, attention-output@L"),
        ("--sites input@2,tokens@1", "are the same vectors, and the first leaves"),
        ("--sites embedding", "by: wordbias erase --model MODEL --texts FILE --labels COLUMN"),
        ("--setting tokens@1 --sites tokens@2 -o OUT", "needs the site tokens@1"),
        ("--setting L12-110 -o OUT", "setting L12-110: is of misp-pairs and mhd-pairs, which"),
        ("-o no/such", "does not exist"),
    ],
)
def test_mistakes_are_one_line(
    refused: Refused, data: Path, tmp_path: Path, more: str, said: str
) -> None:
    words = [tmp_path / "out" if word == "OUT" else word for word in more.split()]
    assert said in refused(*given(data, "llama"), *words)


def test_mistakes_of_models_and_labels(refused: Refused, data: Path, tmp_path: Path) -> None:
    assert "its layers share their weights" in refused(*given(data, "albert"))
    call = ("project", data / "llama", "--methods", "mhd-pairs", "--tokens", "cls")
    assert "the first token of a decoder has read no other; choose mean, word or last" in refused(
        *call
    )
    published = ("--methods", "mhd-pairs", "--setting", "L11-11101", "-o", tmp_path / "a")
    message = refused("project", data / "llama", *published)
    assert "site cls@2: LlamaForCausalLM is a decoder; it has input@L" in message
    assert "--head=masked-lm is for encoders; " in refused(
        *given(data, "llama", "--head", "masked-lm"), code=2
    )
    blank = tmp_path / "blank.tsv"
    blank.write_text("text\tgender\nshe left\tF\nthe man left\tM\nthe house\t\n")
    call = ("project", data / "llama", "--texts", blank, "--labels")
    assert "1 of 3 texts have no gender, the first is line 4; mend it, or" in refused(
        *call, "gender"
    )
    blank.write_text("text\tgender\nshe left\tF\n \tM\nthe house\tM\nshe saw\tF\n")
    assert "blank.tsv: line 3: has no token; mend it, or drop" in refused(*call, "gender")
    blank.write_text("text\tgender\n \tF\n \tM\n \tF\n \tM\nthe house\t\n")
    assert "line 2: has no token" in refused(*call, "gender", "--skip-bad")
    blank.write_text("text\tgender\nshe left\tF\nthe man left\tM\nthe house\t\n")
    (tmp_path / "labels.txt").write_text("F\nM\n")
    assert "blank.tsv: 3 texts, but 2 values of" in refused(*call, tmp_path / "labels.txt")
    (tmp_path / "names.txt").write_text("Ann\nBob\nCid\n")
    message = refused(*call, tmp_path / "names.txt")
    assert "has 3 classes in 3 texts, such as 'Ann': fewer than two texts each" in message
    shutil.copytree(data / "llama", tmp_path / "headless")
    from safetensors.torch import load_file, save_file

    weights = load_file(tmp_path / "headless" / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, tmp_path / "headless" / "model.safetensors", {"format": "pt"})
    message = refused(*given(data, "llama")[:1], tmp_path / "headless")
    assert "without lm_head.weight; give a model folder with a trained head" in message


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--texts TEXTS", "--texts needs --labels"),
        ("--labels gender", "--labels goes with --texts"),
        ("--skip-bad", "--skip-bad goes with --texts"),
        ("--texts TEXTS --labels gender --pairs TEXTS", "choose one of --texts and --pairs"),
        ("--methods mhd-pairs --simultaneous", "mhd-pairs is always fitted on the unmodified"),
        ("--texts TEXTS --labels gender --methods mhd-pairs", "--texts choose leace, hard, mhd"),
        ("--unit-length", "leave it out, or name one of them with --methods"),
        ("--methods leace --unit-length", "--unit-length is for misp-pairs and mhd-pairs"),
        ("--methods leace:dims=2", "dims is for: mhd, misp, misp-pairs, mhd-pairs"),
        ("--tokens cls", "--tokens=cls is not for --methods=leace; expected one of all, last"),
        ("--methods misp-pairs --tokens all", "expected one of mean, word, cls, last"),
        ("--texts TEXTS --labels gender --tokens word", "--tokens=word compares"),
        ("--limit 9", "--limit goes with --texts or --sent-debias"),
        ("--methods inlp", "method 'inlp': expected one of leace, hard, mhd, misp, misp-pairs"),
    ],
)
def test_options_that_need_or_exclude_each_other(
    refused: Refused, data: Path, more: str, said: str
) -> None:
    words = [data / "texts.tsv" if word == "TEXTS" else word for word in more.split()]
    assert said in refused("project", data / "llama", *words, code=2)
