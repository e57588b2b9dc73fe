from pathlib import Path
from typing import Any

import pytest

from serve import embedded
from serve.embedded import MODELS, embedded_folder

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("one_thread"),
]

PROMPTS = ["def add(a, b):\n    ", "The capital of France is", "1, 2, 3, 4,"]


@pytest.fixture(scope="module")
def gguf() -> Path:
    return embedded._packaged_gguf(MODELS["smollm2_135m"])


@pytest.fixture(scope="module")
def packaged(gguf: Path, one_thread: None) -> Any:
    """The model as transformers itself reads it from the GGUF file."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_config(config)
    read = load_gguf_checkpoint(str(gguf), return_tensors=True, model_to_load=model)
    loaded = model.load_state_dict(read["tensors"], strict=False)
    assert loaded.unexpected_keys == []
    assert set(loaded.missing_keys) <= {"lm_head.weight"}  # tied to the embedding
    model.tie_weights()
    return model.eval()


@pytest.fixture(scope="module")
def converted(one_thread: None) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    folder = embedded_folder("smollm2_135m")
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def test_every_tensor_is_exactly_the_packaged_one(packaged: Any, converted: Any) -> None:
    import torch

    left, right = packaged.state_dict(), converted.state_dict()
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def test_tokenizer_and_template_are_the_packaged_ones(gguf: Path) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    ours = AutoTokenizer.from_pretrained(embedded_folder("smollm2_135m"))
    assert ours.chat_template == theirs.chat_template is not None
    text = "def f(x):\n\treturn 'äöü 漢字' + str(12345)  # <|im_end|>"
    assert ours(text)["input_ids"] == theirs(text)["input_ids"]
    assert ours.decode(ours(text)["input_ids"]) == text


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_text_is_that_of_the_packaged_model(
    prompt: str, packaged: Any, converted: Any
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(embedded_folder("smollm2_135m"))
    inputs = tokenizer(prompt, return_tensors="pt")
    texts = [
        tokenizer.decode(model.generate(**inputs, max_new_tokens=12, do_sample=False)[0])
        for model in (packaged, converted)
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > len(prompt)


def test_the_folder_is_readable_by_everyone() -> None:
    folder = embedded_folder("smollm2_135m")
    private = [path.name for path in [folder, *Path(folder).iterdir()] if not mode(path) & 0o004]
    assert private == []


def mode(path: Path) -> int:
    return path.stat().st_mode
