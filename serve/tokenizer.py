"""A model's tokenizer without its engine."""

from typing import Any

from conf import ModelConfig, UserError
from serve.models import resolve_model


def load_tokenizer(config: ModelConfig) -> Any:
    """Return the tokenizer that the engine would use for a model.

    Raises:
        UserError: the model is not to be had here, or it has no tokenizer that loads.
    """
    resolved = resolve_model(config)
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(
            resolved.path, revision=resolved.revision, trust_remote_code=config.trust_remote_code
        )
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise UserError(
            f"model.path={config.path}: its tokenizer does not load: {reason}"
        ) from error
