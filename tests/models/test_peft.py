"""Models with adapters of PEFT: hooks work on them, and what is written has them merged."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from decoder_values import VOCABULARY, subspace_at, texts
from sentence_models import encoded, load, sentence_folder
from tiny_decoders import build_decoder, byte_tokenizer, save_decoder

import wordbias as wb
from wordbias.errors import WordbiasError
from wordbias.models.adapters import Adapter
from wordbias.models.encoder import Encoder
from wordbias.models.fingerprint import Fingerprint
from wordbias.models.model_like import in_folder, name_of, transformer_of
from wordbias.models.peft import has_adapters, merged
from wordbias.models.sites import sites

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft", reason="makes the adapters")

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    # of an adapter of the embeddings or the head where both are tied, which is what is tested
    pytest.mark.filterwarnings("ignore:Model (with|has) `tie_word_embeddings:UserWarning"),
]

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "lora": ("llama", {"target_modules": ["q_proj", "v_proj", "o_proj"]}),
    "dora": ("llama", {"target_modules": ["q_proj", "down_proj"], "use_dora": True}),
    "of a fused map": ("gpt2", {"target_modules": ["c_attn"], "fan_in_fan_out": True}),
    "of embeddings": ("llama", {"target_modules": ["q_proj", "embed_tokens"]}),
    "of the head": ("llama", {"target_modules": ["lm_head"]}),
    "a whole module": ("llama", {"target_modules": ["q_proj"], "modules_to_save": ["o_proj"]}),
}


def tuned(kind: str, tied: bool = False) -> Any:
    """Return a ``PeftModel`` in float64 whose adapters change what it computes."""
    family, how = KINDS[kind]
    model = build_decoder(family, VOCABULARY, tie_word_embeddings=tied).double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        adapted = peft.get_peft_model(model, peft.LoraConfig(r=2, init_lora_weights=False, **how))
        with torch.no_grad():
            for name, weight in adapted.named_parameters():
                if "modules_to_save" in name or "embedding_A" in name:
                    weight.add_(torch.randn_like(weight))
    return adapted.double().eval()


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=texts()).logits


@pytest.mark.parametrize("tied", [False, True], ids=["own head", "tied head"])
@pytest.mark.parametrize("kind", KINDS)
def test_merged_weights_compute_what_the_adapters_do(kind: str, tied: bool) -> None:
    model = tuned(kind, tied)
    before = copy.deepcopy(model.state_dict())
    adapted = logits(model)
    with model.disable_adapter():
        assert not torch.allclose(logits(model), adapted)
    combined = merged(transformer_of(model))
    assert not has_adapters(combined)
    torch.testing.assert_close(logits(combined), adapted)
    torch.testing.assert_close(logits(model), adapted)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_adapters_that_are_off_are_not_merged() -> None:
    model = tuned("a whole module")
    with model.disable_adapter():
        plain = logits(model)
        torch.testing.assert_close(logits(merged(transformer_of(model))), plain)


@pytest.mark.parametrize("how", ["peft", "transformers"])
@pytest.mark.parametrize("kind", ["lora", "dora", "of a fused map"])
def test_a_folded_removal_is_behind_the_adapter(kind: str, how: str) -> None:
    family = KINDS[kind][0]
    model: Any = tuned(kind)
    if how == "transformers":  # which puts the same layers in without a model around them
        model = model.get_base_model()
    wanted = sites("query@1,value@2,attention-output@1,mlp-output@2", 2)
    adapter = Adapter(
        {site: subspace_at(family, site) for site in wanted}, Fingerprint.of(transformer_of(model))
    )
    setting = ",".join(map(str, wanted))
    plain = logits(model)
    with adapter.on(model, setting):
        removed = logits(model)
    assert not torch.allclose(plain, removed)
    folded = adapter.fold(model, setting)
    assert isinstance(folded, transformers.PreTrainedModel)
    torch.testing.assert_close(logits(folded), removed)
    torch.testing.assert_close(logits(model), plain)


@pytest.mark.parametrize("wrapped", [True, False], ids=["PeftModel", "transformers"])
def test_a_written_model_has_its_adapters_merged(wrapped: bool) -> None:
    model = tuned("lora")
    given = model if wrapped else model.get_base_model()
    with in_folder((given, byte_tokenizer())) as folder:
        read = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    torch.testing.assert_close(logits(read.eval()), logits(model))


def test_a_model_with_adapters_is_measured_with_them() -> None:
    tokenizer = byte_tokenizer()
    base = build_decoder("llama", len(tokenizer))
    model = peft.get_peft_model(
        copy.deepcopy(base),
        peft.LoraConfig(r=2, init_lora_weights=False, target_modules=["q_proj", "v_proj"]),
    ).eval()
    sentences = ["The nurse sleeps.", "A doctor works."]
    vectors = wb.encode((model, tokenizer), sentences, layers=[2]).vectors
    same = wb.encode((merged(transformer_of(model)), tokenizer), sentences, layers=[2]).vectors
    other = wb.encode((base, tokenizer), sentences, layers=[2]).vectors
    torch.testing.assert_close(torch.tensor(vectors), torch.tensor(same))
    assert abs(vectors - other).max() > 0.01


@pytest.mark.parametrize("adapted", [True, False], ids=["lora", "plain"])
def test_a_loaded_sentence_transformer_is_exported_with_its_modules(
    adapted: bool, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers")
    model = load(sentence_folder(tmp_path / "tiny", "Normalize"))
    if adapted:
        try:
            model.add_adapter(peft.LoraConfig(target_modules=["query"], init_lora_weights=False))
        except ValueError as error:
            if "version of PEFT" not in str(error):
                raise
            pytest.skip(f"transformers takes no adapter: {error}")
    (tmp_path / "tiny").rename(tmp_path / "away")  # as if it came from no folder
    adapter = wb.project(
        model,
        sites="attention@2",
        setting="attention@2",
        pairs=[("She spoke.", "He spoke."), ("She said.", "He said.")],
    )
    wb.apply(adapter, model, output=tmp_path / "clean")
    plain = encoded(model)
    with adapter.on(model):
        removed = encoded(model)
    assert abs(plain - removed).max() > 1e-3
    for clean in (adapter.fold(model), tmp_path / "clean"):
        assert abs(encoded(clean) - removed).max() < 1e-5


def test_results_name_the_adapter() -> None:
    model, tokenizer = tuned("lora"), byte_tokenizer()
    model.get_base_model().resize_token_embeddings(len(tokenizer))
    model.get_base_model().name_or_path = "owner/base"
    assert name_of((model, tokenizer)) == "owner/base+lora"
    assert Encoder.load((model.float(), byte_tokenizer())).name == "owner/base+lora"
    assert name_of((merged(model.get_base_model()), tokenizer)) == "owner/base"


def test_a_trained_prompt_is_refused() -> None:
    prompt = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    model = peft.get_peft_model(build_decoder("llama", VOCABULARY), prompt)
    with pytest.raises(WordbiasError, match=r"its adapter \(PROMPT_TUNING\) is a prompt"):
        wb.project((model, byte_tokenizer()))


@pytest.fixture(scope="module", params=["CAUSAL_LM", None])
def adapter_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str | None]:
    """Return a folder that holds an adapter of a decoder, and its task."""
    folder = tmp_path_factory.mktemp("peft")
    save_decoder(folder / "base")
    base = transformers.AutoModelForCausalLM.from_pretrained(folder / "base")
    config = peft.LoraConfig(
        task_type=request.param, target_modules=["q_proj"], init_lora_weights=False
    )
    peft.get_peft_model(base, config).save_pretrained(folder / "tuned")
    return folder / "tuned", request.param


@pytest.mark.parametrize(
    "call", ["audit", "likelihood --perplexity texts.txt", "encode texts.txt -o v.safetensors"]
)
def test_a_folder_without_its_model_is_refused(
    call: str,
    adapter_folder: tuple[Path, str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("She sleeps.\nHe sleeps.\n", "utf-8")
    (folder, task), (command, *options) = adapter_folder, call.split()
    done = cli(command, folder, *options)
    assert done.code == 1
    assert done.err.count("\n") == 1
    kind = "ForCausalLM" if task else ""
    assert done.err.startswith(
        f"wordbias: {folder}: is an adapter of PEFT without its model; merge them in Python with "
        f"peft.AutoPeftModel{kind}.from_pretrained({str(folder)!r}).merge_and_unload()"
    )


def test_the_merged_model_that_the_error_names(
    adapter_folder: tuple[Path, str | None], tmp_path: Path
) -> None:
    folder, task = adapter_folder
    kind = peft.AutoPeftModelForCausalLM if task else peft.AutoPeftModel
    model = kind.from_pretrained(str(folder)).merge_and_unload()
    model.save_pretrained(tmp_path)
    tokenizer = byte_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    base = transformers.AutoModelForCausalLM.from_pretrained(folder.parent / "base")
    read, given = (
        wb.encode(source, ["She sleeps."], layers=[2]).vectors
        for source in (tmp_path, (peft.PeftModel.from_pretrained(base, folder), tokenizer))
    )
    torch.testing.assert_close(torch.tensor(read), torch.tensor(given))


def test_a_folder_without_its_model_has_no_vectors_of_words(
    adapter_folder: tuple[Path, str | None], cli: Any
) -> None:
    done = cli("misp", adapter_folder[0])
    assert done.code == 1
    assert "is the folder of a model, which has no vectors of words" in done.err
