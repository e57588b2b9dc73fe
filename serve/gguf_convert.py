"""A GGUF file of the Llama family as a Hugging Face folder in float32.

Theory of operation. A GGUF file differs from a Hugging Face folder in three ways. Its tensors
have other names; its weights are quantised in blocks; and the rows of the query and key
projections are reordered, because llama.cpp rotates neighbouring pairs of a head's dimensions
where Hugging Face rotates the first half against the second. So every tensor is dequantised and
renamed, and the rows of those two projections are put back. Nothing is rounded: the result holds
exactly the numbers that the GGUF file stands for. Configuration, tokenizer and chat template come
from the file's own fields.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]

GLOBAL_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def convert_gguf(source: Path, target: Path) -> None:
    """Write ``source`` as a model folder: weights, configuration, tokenizer, chat template.

    Args:
        source: GGUF file of architecture ``llama``.
        target: existing, empty folder.

    Raises:
        ValueError: the file is of another architecture, or holds a tensor with an unknown name.
    """
    from gguf import GGUFReader
    from safetensors.numpy import save_file
    from transformers import AutoTokenizer

    reader = GGUFReader(source)
    fields = dict(reader.fields)
    architecture = fields["general.architecture"].contents()
    if architecture != "llama":
        raise ValueError(f"{source} is of architecture {architecture!r}; only 'llama' is known")
    heads = int(fields["llama.attention.head_count"].contents())
    kv_heads = int(fields["llama.attention.head_count_kv"].contents())
    weights = _read_weights(reader, heads=heads, kv_heads=kv_heads)
    _write_configs(fields, target, tied="lm_head.weight" not in weights)
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    tokenizer = AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
    tokenizer.save_pretrained(str(target))


def hugging_face_name(name: str) -> str:
    """Return what Hugging Face calls a Llama tensor that GGUF calls ``name``.

    Raises:
        ValueError: no Llama model has such a tensor.
    """
    if name in GLOBAL_NAMES:
        return GLOBAL_NAMES[name]
    parts = name.split(".")
    if len(parts) == 4 and parts[0] == "blk" and parts[2] in BLOCK_NAMES:
        return f"model.layers.{parts[1]}.{BLOCK_NAMES[parts[2]]}.{parts[3]}"
    raise ValueError(f"a Llama model has no tensor {name!r}")


def restore_rope_rows(weight: FloatArray, heads: int) -> FloatArray:
    """Undo llama.cpp's order of a projection's rows.

    Within each head of ``d`` rows, GGUF row ``2 j + h`` is Hugging Face row ``h d / 2 + j``.

    Args:
        weight: shape (heads * d, inputs).
        heads: how many heads share the rows.
    """
    rows, inputs = weight.shape
    halves = weight.reshape(heads, rows // heads // 2, 2, inputs)
    return halves.swapaxes(1, 2).reshape(rows, inputs)


def _read_weights(reader: Any, *, heads: int, kv_heads: int) -> dict[str, FloatArray]:
    from gguf import dequantize

    weights = {}
    for tensor in reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        if tensor.name.endswith("attn_q.weight"):
            weight = restore_rope_rows(weight, heads)
        elif tensor.name.endswith("attn_k.weight"):
            weight = restore_rope_rows(weight, kv_heads)
        weights[hugging_face_name(tensor.name)] = np.ascontiguousarray(weight)
    return weights


def _write_configs(fields: dict[str, Any], target: Path, *, tied: bool) -> None:
    from transformers import GenerationConfig, LlamaConfig

    def field(name: str) -> Any:
        return fields[name].contents()

    special = {
        "bos_token_id": field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": field("tokenizer.ggml.eos_token_id"),
        "pad_token_id": field("tokenizer.ggml.padding_token_id"),
    }
    config = LlamaConfig(
        vocab_size=field("llama.vocab_size"),
        hidden_size=field("llama.embedding_length"),
        intermediate_size=field("llama.feed_forward_length"),
        num_hidden_layers=field("llama.block_count"),
        num_attention_heads=field("llama.attention.head_count"),
        num_key_value_heads=field("llama.attention.head_count_kv"),
        max_position_embeddings=field("llama.context_length"),
        rms_norm_eps=field("llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": field("llama.rope.freq_base")},
        tie_word_embeddings=tied,
        dtype="float32",
        **special,
    )
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(target)
    GenerationConfig(**special).save_pretrained(target)
