import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.gguf_convert import hugging_face_name, restore_rope_rows


def llama_cpp_order(weight: np.ndarray, heads: int) -> np.ndarray:
    """Row ``h d / 2 + j`` of a head goes to row ``2 j + h``."""
    rows = weight.shape[0]
    half = rows // heads // 2
    out = np.empty_like(weight)
    for row in range(rows):
        head, inside = divmod(row, 2 * half)
        which, pair = divmod(inside, half)
        out[head * 2 * half + 2 * pair + which] = weight[row]
    return out


@given(heads=st.integers(1, 5), half=st.integers(1, 6), inputs=st.integers(1, 4))
def test_restoring_undoes_the_order_of_llama_cpp(heads: int, half: int, inputs: int) -> None:
    rows = heads * 2 * half
    weight = np.arange(rows * inputs, dtype=np.float32).reshape(rows, inputs)
    assert np.array_equal(restore_rope_rows(llama_cpp_order(weight, heads), heads), weight)


@pytest.mark.parametrize(
    ("gguf", "hugging_face"),
    [
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("output_norm.weight", "model.norm.weight"),
        ("blk.7.attn_k.weight", "model.layers.7.self_attn.k_proj.weight"),
        ("blk.12.ffn_norm.weight", "model.layers.12.post_attention_layernorm.weight"),
    ],
)
def test_tensors_are_renamed(gguf: str, hugging_face: str) -> None:
    assert hugging_face_name(gguf) == hugging_face


@pytest.mark.parametrize("name", ["blk.0.ffn_gate_exps.weight", "rope_freqs.weight", "blk.0.x"])
def test_an_unknown_tensor_is_an_error_and_not_skipped(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        hugging_face_name(name)
