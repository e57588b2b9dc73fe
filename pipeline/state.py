"""What the model gets to see at each step: the chain's state, as pure functions.

Step 0 shows the problem as its data set has it. From step 1 on the function is called ``func``
(the masking of IdentityChain, arXiv 2310.14053) and the only text that describes it is the
model's own: a program is shown without its docstring, a header carries the last description.
"""

from pipeline.extraction import describe_view
from pipeline.masking import MASK, mask_program, mask_signature, render_header


def entry_name(entry_point: str, step: int) -> str:
    """Return what the function is called at a step."""
    return entry_point if step == 0 else MASK


def shown_header(
    *, prompt: str, preamble: str, signature: str, entry_point: str, step: int, nl: str | None
) -> str:
    """Return the text from which the program of a step is written.

    Args:
        prompt: the data set's own text, shown at step 0.
        preamble: imports and helpers that stand before the signature.
        signature: the unmasked signature, from ``def`` to the colon.
        entry_point: the unmasked name.
        step: which step.
        nl: the model's description; needed from step 1 on.
    """
    if step == 0:
        return prompt
    if nl is None:
        raise ValueError(f"step {step} has no description to write a program from")
    return render_header(preamble, mask_signature(signature, entry_point), nl)


def shown_program(pl: str, *, entry_point: str, step: int) -> str:
    """Return the program of a step as it is shown for describing: masked, without its docstring."""
    masked = mask_program(pl, entry_point) if step == 0 else pl
    return describe_view(masked, MASK)
