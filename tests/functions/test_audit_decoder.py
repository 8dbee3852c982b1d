"""`wordbias audit MODEL` of a decoder: likelihoods, recomputed by hand, and its folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import planted_decoder
import pytest
import small_likelihood
import stand_ins
from quick_cases import first_quick
from scipy.stats import spearmanr

import wordbias as wb
from wordbias.calls import WordbiasWarning
from wordbias.functions.audit import audit
from wordbias.functions.report import Page
from wordbias.measures.registry import short_title
from wordbias.wordlists import model_sentences
from wordbias.wordlists.model_sentences import ModelSentences, occupation_subject

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("one_thread", "few_names")
Cli = Callable[..., Any]
NAMES = 24
VECTORS = "probe,untrained,seat,ceat,pronouns"
"""Every part but the likelihoods."""
LISTS = ModelSentences.load()
ABOUT_NOBODY = [*LISTS.unrelated, *(text for pair in LISTS.paraphrases for text in pair)]


@pytest.fixture(autouse=True)
def few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_sentences, "NAMES", NAMES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_decoder.write_folder(tmp_path_factory.mktemp("audit") / "planted")


def audited(folder: Path, methods: list[str]) -> Page:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_sentences, "NAMES", NAMES)
        torch.set_num_threads(1)
        audit_page = audit(folder, methods=methods, skip="probe,untrained,seat,ceat")
    assert isinstance(audit_page, Page)
    return audit_page


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    """Return the audit of a decoder in which gender is planted."""
    return audited(folder, ["hard"])


@pytest.fixture(scope="module")
def of_others(folder: Path) -> Page:
    """Return the same with other methods."""
    return audited(folder, ["leace", "tokens@all", "concept-scrubbing"])


@pytest.fixture(scope="module")
def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


def of(page: Page, measure: str, **details: Any) -> list[Any]:
    return [
        row
        for row in page.rows
        if row.measure == measure
        and all(row.details.get(key) == value for key, value in details.items())
    ]


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


# The same figures, computed from the model's logits

Change = Callable[[Any], Any]


def predicted(model: Any, ids: Sequence[int], change: Change | None = None) -> Any:
    """Return log-probabilities of the next token; `change` is of what the head reads."""
    with torch.inference_mode():
        states = model.model(input_ids=torch.tensor([ids])).last_hidden_state[0]
        states = states if change is None else change(states)
        return model.lm_head(states).double().log_softmax(-1)


def leans(model: Any, tokenizer: Any, subjects: Sequence[str], change: Change | None) -> Any:
    she, he = (ids_of(tokenizer, word)[0] for word in ("she", "he"))
    means = []
    for subject in subjects:
        values = []
        for template in LISTS.measured:
            begun = template.replace("{subject}", subject).removesuffix(".")
            for text in (f"{begun} because", f"{begun}, and then"):
                log_p = predicted(model, ids_of(tokenizer, text), change)[-1]
                values.append(float(log_p[she] - log_p[he]))
        means.append(np.mean(values))
    return np.array(means)


def difference_of_means(model: Any, tokenizer: Any, page_texts: Any) -> Change:
    """Return the hard removal of the difference between the means of the sentences for fitting."""
    sides = []
    for group in page_texts.groups:
        side = [sentence.text for sentence in page_texts.fit if sentence.group == group]
        with torch.inference_mode():
            sides.append(
                [
                    model.model(input_ids=torch.tensor([ids_of(tokenizer, text)]))
                    .last_hidden_state[0, -1]
                    .double()
                    .numpy()
                    for text in side
                ]
            )
    apart = np.mean(sides[0], axis=0) - np.mean(sides[1], axis=0)
    g = torch.tensor(apart / np.linalg.norm(apart), dtype=torch.float32)
    return lambda x: x - (x @ g)[..., None] * g


@pytest.mark.parametrize("stage", first_quick(["before", "hard"]))
def test_the_expected_pronoun_is_that_of_the_logits(
    page: Page, loaded: tuple[Any, Any], stage: str
) -> None:
    from wordbias.contextual.audit.texts import AuditTexts

    model, tokenizer = loaded
    change = None if stage == "before" else difference_of_means(model, tokenizer, AuditTexts.load())
    expected = leans(model, tokenizer, [occupation_subject(word) for word in LISTS.women], change)
    rows = of(page, "expected-pronoun-lean", stage=stage)
    assert [row.details["word"] for row in rows] == list(LISTS.women)
    np.testing.assert_allclose([row.value for row in rows], expected, atol=1e-4)
    (rank,) = of(page, "expected-pronoun-stereotype", stage=stage)
    share = list(LISTS.women.values())
    assert rank.value == pytest.approx(spearmanr(expected, share).statistic, abs=1e-3)
    (gap,) = of(page, "expected-pronoun-gap", stage=stage)
    assert gap.value == pytest.approx(expected.mean(), abs=1e-4)
    people = leans(model, tokenizer, LISTS.subjects, change)
    assert gap.details["people"] == pytest.approx(people.mean(), abs=1e-4)


@pytest.mark.parametrize("stage", first_quick(["before", "hard"]))
def test_perplexity_is_that_of_the_logits(page: Page, loaded: tuple[Any, Any], stage: str) -> None:
    from wordbias.contextual.audit.texts import AuditTexts

    model, tokenizer = loaded
    change = None if stage == "before" else difference_of_means(model, tokenizer, AuditTexts.load())
    total, tokens = 0.0, 0
    for text in ABOUT_NOBODY:
        ids = [tokenizer.bos_token_id, *ids_of(tokenizer, text)]
        log_p = predicted(model, ids, change)
        total += float(log_p[range(len(ids) - 1), ids[1:]].sum())
        tokens += len(ids) - 1
    (row,) = of(page, "perplexity", stage=stage)
    assert row.value == pytest.approx(np.exp(-total / tokens), rel=1e-5)
    assert (row.details["n"], row.details["sentences"]) == (tokens, len(ABOUT_NOBODY))
    (bits,) = of(page, "bits-per-byte", stage=stage)
    size = sum(len(text.encode()) for text in ABOUT_NOBODY)
    assert bits.value == pytest.approx(-total / size / np.log(2), rel=1e-5)


# Rows, answers and the page


def test_what_is_planted_is_found_and_removed(page: Page) -> None:
    (before,) = of(page, "expected-pronoun-stereotype", stage="before")
    assert before.details["beyond_chance"] is True
    assert before.details["low"] > 0.5
    (after,) = of(page, "expected-pronoun-stereotype", stage="hard")
    assert after.details["change_high"] < 0
    assert after.details["chance_high"] == before.details["chance_high"]
    text = "\n".join(page.heading)
    assert "it expects “she” rather than “he” the more, the more women work in it" in text
    assert "correlation of the expected pronoun with the share of women" in text
    assert "hard keeps of the order of similarities" in text
    assert "encoder" not in page.page().partition("<body")[2].partition("<script")[0]


@pytest.mark.parametrize("which", first_quick(["page", "of_others"]))
def test_rows_are_of_a_decoder_and_changes_are_paired(
    which: str, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue(which)
    assert {row.details["audit"] for row in page.rows} == {"decoder"}
    assert page.inputs["planted"]["kind"] == "decoder"
    assert page.inputs["planted"]["pooling"] == "last"
    measures = ("expected-pronoun-stereotype", "expected-pronoun-gap", "perplexity")
    for label in {row.details["stage"] for row in page.rows} - {"before"}:
        for measure in measures:
            (before,), (after,) = (of(page, measure, stage=stage) for stage in ("before", label))
            assert after.details["change"] == pytest.approx(after.value - before.value)
            assert after.details["change_low"] <= after.details["change_high"]
        (kept_share,) = of(page, "perplexity-kept", stage=label)
        perplexity = [of(page, "perplexity", stage=stage)[0].value for stage in ("before", label)]
        assert kept_share.value == pytest.approx(perplexity[0] / perplexity[1])
        (left,) = of(page, "bias-left", stage=label)
        assert left.details["costs"]["perplexity-kept"] == kept_share.value
        assert short_title("expected-pronoun-stereotype") in left.details["of"]
        assert left.details["kept"] == min(left.details["costs"].values())
    json.loads(page.render("json"))


@pytest.mark.slow
def test_the_default_columns_are_of_a_decoder(folder: Path) -> None:
    audit_page = audit(folder, skip=f"{VECTORS},likelihood")
    assert {row.details["stage"] for row in audit_page.rows} == {
        "hard",
        "leace",
        "concept-scrubbing",
    }
    assert not of(audit_page, "column")


@pytest.mark.slow
def test_scrubbing_leaves_no_mean_difference_in_any_layer(
    folder: Path, loaded: tuple[Any, Any]
) -> None:
    from wordbias.contextual.audit.projections import fit, read_method
    from wordbias.contextual.audit.texts import AuditTexts, Reader
    from wordbias.models.encoder import Encoder
    from wordbias.models.hooks import applied

    reader = Reader(Encoder.load(folder, device="cpu"), AuditTexts.load())
    none = np.zeros((0, planted_decoder.WIDTH))
    done = fit(read_method("concept-scrubbing"), reader, [none, none], 0)
    assert [str(it.site) for it in done.inside] == ["tokens@1", "tokens@2"]

    def apart() -> list[float]:
        sums = np.zeros((2, planted_decoder.LAYERS, planted_decoder.WIDTH))
        counts = np.zeros(2)
        for sentence in reader.texts.fit:
            side = reader.texts.groups.index(sentence.group)
            ids = torch.tensor([ids_of(loaded[1], sentence.text)])
            with torch.inference_mode():
                states = reader.encoder.model(
                    input_ids=ids, output_hidden_states=True
                ).hidden_states[1:]
            sums[side] += [state[0].double().sum(0).numpy() for state in states]
            counts[side] += ids.shape[1]
        means = sums / counts[:, None, None]
        return [float(norm) for norm in np.linalg.norm(means[0] - means[1], axis=1)]

    before = apart()
    with applied(reader.encoder.model, done.inside):
        after = apart()
    assert all(new < 1e-4 * old for new, old in zip(after, before, strict=True))


@pytest.mark.slow
def test_a_removal_in_all_layers_changes_all_of_them(folder: Path) -> None:
    audit_page = audit(
        folder, methods=["tokens@all", "tokens@2"], skip="untrained,seat,ceat,likelihood"
    )
    layers = {
        label: {row.details["layer"] for row in of(audit_page, "compression", stage=label)}
        for label in ("before", "tokens@all", "tokens@2")
    }
    assert layers == {"before": {0, 1, 2}, "tokens@all": {1, 2}, "tokens@2": {2}}
    assert not of(audit_page, "perplexity")
    (at_the_last,) = of(audit_page, "pronoun-stereotype", stage="tokens@2")
    assert at_the_last.details["layer"] == 2


# Folders


def values(page: Page, stage: str) -> Mapping[tuple[str, str], float]:
    return {
        (row.measure, row.details.get("word", "")): row.value
        for row in page.rows
        if row.details["stage"] == stage
        and row.measure in ("expected-pronoun-lean", "expected-pronoun-gap", "perplexity")
    }


@pytest.mark.slow
def test_the_written_decoder_has_the_figures_of_the_column(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "clean"
    with pytest.warns(WordbiasWarning, match="clean: written, with hard in its weights"):
        original = audit(folder, methods=["hard"], skip=VECTORS, export=target)
    written = audit(target, methods="none", skip=VECTORS)
    expected = values(original, "hard")
    assert len(expected) == len(LISTS.women) + 2
    assert values(written, "before") == pytest.approx(expected, abs=1e-4, rel=1e-6)
    assert values(original, "before") != pytest.approx(expected, abs=1e-2)
    with pytest.raises(wb.WordbiasError, match="clean"):
        audit(folder, methods="hard", export=target)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["leace", "tokens@1", "concept-scrubbing"])
def test_what_is_not_exact_in_weights_is_written_as_an_adapter(
    folder: Path, tmp_path: Path, loaded: tuple[Any, Any], method: str
) -> None:
    target = tmp_path / "adapted"
    with pytest.warns(WordbiasWarning, match="holds adapter.safetensors, not the model"):
        original = audit(folder, methods=[method], skip=VECTORS, export=target)
    assert [path.name for path in target.iterdir()] == ["adapter.safetensors"]
    adapter = wb.load(target / "adapter.safetensors")
    with adapter.on(loaded[0]) as model:
        applied = audit((model, loaded[1]), methods="none", skip=VECTORS)
    assert values(applied, "before") == pytest.approx(values(original, method), abs=1e-4)


# Data sets


@pytest.mark.slow
def test_data_sets_are_scored_by_likelihood_before_and_after(folder: Path, tmp_path: Path) -> None:
    small_likelihood.crows_pairs(tmp_path / "crows.csv")
    small_likelihood.stereoset(tmp_path / "stereoset.json")
    files = [tmp_path / "crows.csv", tmp_path / "stereoset.json"]
    audit_page = audit(folder, stereoset=files, skip=VECTORS, methods=["hard"])
    alone = wb.likelihood(folder, data=files)
    crows = of(audit_page, "crows", stage="hard")
    several = [row.details for row in crows if row.details["n"] > 1]
    assert several
    assert all(details["change_low"] <= details["change_high"] for details in several)
    for measure in ("crows", "likelihood-difference", "ss", "lms"):
        before = of(audit_page, measure, stage="before")
        assert [row.value for row in before] == [row.value for row in alone[measure]]
        for old, new in zip(before, of(audit_page, measure, stage="hard"), strict=True):
            assert new.details["change"] == pytest.approx(new.value - old.value)
    changed = [
        row.details["change"] for row in of(audit_page, "likelihood-difference", stage="hard")
    ]
    assert any(abs(change) > 1e-3 for change in changed)


# Refusals


def test_enhanced_stereoset_is_for_a_next_sentence_head(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    stand_ins.gsss(tmp_path / "gsss.csv")
    done = cli("audit", folder, "--stereoset", tmp_path / "gsss.csv")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "pairs of sentences, which a next-sentence head scores" in done.err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--methods", "tokens@9"), "tokens@9: the model has the layers 1 to 2"),
        (("--methods", "tokens@2..1"), "expected the first layer and then the last"),
        (("--skip", "weat"), "expected some of probe, untrained, seat, ceat, pronouns, likelihood"),
    ],
)
def test_what_does_not_fit_a_decoder_is_refused_in_one_line(
    cli: Cli, folder: Path, given: tuple[str, ...], message: str
) -> None:
    done = cli("audit", folder, *given)
    assert done.code in (1, 2)
    assert message in done.err
    assert done.code == 2 or done.err.count("\n") == 1


def test_a_site_that_decoders_lack_is_a_column_with_its_reason(folder: Path) -> None:
    audit_page = audit(folder, methods=["cls@2"], skip=f"{VECTORS},likelihood")
    (column,) = of(audit_page, "column")
    assert "is a decoder; it has" in column.details["reason"]


def test_a_decoder_without_a_head_has_vectors_only(tmp_path: Path, folder: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    pair = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    audit_page = audit(pair, methods=["hard"], skip="probe,untrained,seat,ceat")
    assert {row.details["audit"] for row in audit_page.rows} == {"decoder"}
    assert of(audit_page, "pronoun-stereotype", stage="hard")
    assert not of(audit_page, "perplexity")
    assert any(note.startswith("likelihoods are not measured: ") for note in audit_page.notes)


def test_an_encoder_has_no_likelihood_to_skip(cli: Cli, tmp_path: Path) -> None:
    stand_ins.next_sentence_encoder(tmp_path / "nsp")
    done = cli("audit", tmp_path / "nsp", "--skip", "likelihood")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "part 'likelihood': is of decoders" in done.err
    files = ("--stereoset", tmp_path / "a.csv", "--stereoset", tmp_path / "b.csv")
    done = cli("audit", tmp_path / "nsp", *files)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "is an encoder, which is measured on one file; 2 were given" in done.err


def test_damaged_weights_are_one_note() -> None:
    model, tokenizer = planted_decoder.planted()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    audit_page = audit((model, tokenizer), methods="none", skip=VECTORS)
    assert not audit_page.rows
    (note,) = (line for line in audit_page.notes if "likelihood was not measured" in line)
    assert "predicts what is no number; its weights are damaged" in note
