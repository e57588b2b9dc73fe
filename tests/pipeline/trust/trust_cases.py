import gzip
import json
from pathlib import Path

from pipeline.datasets.fields import Record
from pipeline.datasets.humaneval import convert

PROMPT = 'import math\n\n\ndef double(n: int, by: int = 2) -> int:\n    """n times by."""\n'
RECORD = {
    "task_id": "T/0",
    "entry_point": "double",
    "prompt": PROMPT,
    "test": "def check(candidate):\n    assert candidate(3) == 6\n    assert candidate(0) == 0\n",
    "canonical_solution": "    return n * by\n",
}
PROBLEM = convert(Record(RECORD, "here"), "demo")


def write_lines(path: Path, records: list[dict]) -> None:
    with gzip.open(path, "wt") as lines:
        for record in records:
            lines.write(json.dumps(record) + "\n")


def write_codet(folder: Path, *, programs: list[str], tests: list[str], relations: list[str]):
    write_lines(folder / "humaneval_problems.jsonl.gz", [RECORD])
    write_lines(folder / "x_m_programs.jsonl.gz", [{"task_id": "T/0", "samples": programs}])
    write_lines(folder / "x_m_tests.jsonl.gz", [{"task_id": "T/0", "samples": tests}])
    rows = [
        {"task_id": "T/0", "set": "B", "n": n, "postcondition": text}
        for n, text in enumerate(relations)
    ]
    write_lines(folder / "x_postconditions.jsonl.gz", rows)
