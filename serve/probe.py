"""Whether an engine answers alike alone and in a batch: asked, not assumed.

Sums of floating-point numbers depend on their order, and kernels choose it by the size of the
batch, so a greedy answer may depend on what else was in flight. The same prompts are sent one by
one and all together. The prompts are shorter than a block of the attention cache, so the second
time finds nothing to reuse, and differ in length, as a run's do. A difference is proof; that none
was seen is not, as other sizes of batch may choose other kernels.
"""

import asyncio
from dataclasses import dataclass

from serve.client import ClientSpec, EngineClient
from serve.messages import Answer, Completion, Prompt, Sampling

PROMPTS = (
    "def add(a, b):\n",
    "The capital of France is",
    "import math\n\ndef area",
    "1, 1, 2, 3, 5, 8,",
)
TOKENS = 16


@dataclass(frozen=True)
class BatchProbe:
    """What the probe found."""

    batch_invariant: bool | None
    """Whether every text was the same both times; null when a request failed."""
    differing: int
    """Prompts with another text together than alone."""
    logprobs_equal: bool | None
    """Whether the log-probabilities were the same to the last bit, too: the finer measure."""
    prompts: int = len(PROMPTS)
    tokens: int = TOKENS


def probe_batches(spec: ClientSpec) -> BatchProbe:
    """Ask a running engine; no event loop may run in this thread."""
    return asyncio.run(_probe(spec))


async def _probe(spec: ClientSpec) -> BatchProbe:
    client = EngineClient.open(spec)

    async def ask(way: str, index: int) -> Answer:
        request_id = f"probe/{way}/{index}"
        return await client.generate(request_id, Prompt(text=PROMPTS[index]), Sampling(TOKENS))

    alone = [await ask("alone", index) for index in range(len(PROMPTS))]
    together = await asyncio.gather(*(ask("together", index) for index in range(len(PROMPTS))))
    return compare_answers(alone, together)


def compare_answers(alone: list[Answer], together: list[Answer]) -> BatchProbe:
    """Compare the answers to the same prompts."""
    pairs = [
        (a, b)
        for a, b in zip(alone, together, strict=True)
        if isinstance(a, Completion) and isinstance(b, Completion)
    ]
    differing = sum(a.text != b.text for a, b in pairs)
    if len(pairs) < len(alone):
        return BatchProbe(None, differing, None)
    return BatchProbe(differing == 0, differing, all(a.logprob == b.logprob for a, b in pairs))
