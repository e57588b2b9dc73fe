"""What it costs to take a program out of a long answer, and that the cost is linear in its length.

python benchmarks/extraction.py [--lines N] [--repeat N]
"""

import argparse
import time

from benchmarks.machine import describe_machine
from pipeline.extraction import extract

NAME = "second_largest"
DRAFT = f"def {NAME}(xs):\n    return sorted(xs)[-2]"
FINAL = f"```python\ndef {NAME}(xs: list) -> int:\n    return sorted(set(xs))[-2]\n```\n"
PROSE = "So [5, 5, 1] would give 5, isn't it? Let's see (by hand: x = sorted(xs), then x[-2]).\n"
HELPER = "```python\ndef step_@(x):\n    return step_0(x)\n```\n"
SHAPES = {
    # What one line of the reasoning is (@: its number), and what comes after all of them.
    "prose, then a fence": (PROSE, FINAL),
    "thinking, then a fence": (PROSE, "</think>\n" + FINAL),
    "bare drafts, then a fence": (PROSE + DRAFT + "\n\n", FINAL),
    "bare drafts, no fence": (PROSE + DRAFT + "\n\n", f"Finally:\n\n{DRAFT}\n"),
    "fenced drafts": (f"{PROSE}```python\n{DRAFT}\n```\n", FINAL),
    "helpers in blocks": (HELPER, FINAL.replace("sorted", "step_9")),
    "broken drafts": (f"def {NAME}(xs):\n    return sorted(xs[\n", FINAL),
    "one long program, cut off": ("x = [1, 2, 3]\n", f"{DRAFT}\n\ndef demo():\n    print("),
}


def main() -> None:
    """Print CPU milliseconds for each shape at one and at two lengths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=4_000, help="lines of reasoning")
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the fastest counts")
    options = parser.parse_args()
    print(describe_machine())
    print(f"{'answer':<28} {'lines':>6} {'kind':>8} {'CPU ms':>8}  {'x 2 lines':>9}")
    for shape, (line, end) in SHAPES.items():
        rows = line.count("\n")
        answer = _numbered(line, options.lines // rows) + end
        longer = _numbered(line, 2 * options.lines // rows) + end
        kind = extract(answer, NAME).kind
        once, twice = (_cpu_ms(text, options.repeat) for text in (answer, longer))
        print(f"{shape:<28} {options.lines:>6} {kind:>8} {once:>8.1f}  {twice / once:>9.2f}")


def _numbered(line: str, count: int) -> str:
    return "".join(line.replace("@", str(number)) for number in range(count))


def _cpu_ms(answer: str, repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        extract(answer, NAME)
        best = min(best, time.process_time() - start)
    return best * 1000


if __name__ == "__main__":
    main()
