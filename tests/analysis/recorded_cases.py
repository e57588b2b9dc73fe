"""Recorded chains for tests: as objects and as files of the release's format."""

import gzip
import json
from pathlib import Path

from analysis.recorded import RecordedChain, RecordedStep

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "identitychain"
HUMAN_JUDGE = SHARED / "human-judge_gpt-3.5-turbo-0613_len1_EvalPlus-Mini-v0.1.6.jsonl.gz"


def step(*results: str, pl: str = "    return 1", nl: str = '    """One."""') -> RecordedStep:
    return RecordedStep(nl=nl, pl=pl, results=results)


def skipped() -> RecordedStep:
    return RecordedStep(nl="NA", pl="NA", results=None)


def chain(*steps: RecordedStep, problem: str = "t/1", name: str = "one") -> RecordedChain:
    return RecordedChain(problem, name, f"def {name}():\n", steps)


def line(chain: RecordedChain, **changed) -> dict:
    fields = {
        "task_id": chain.problem_id,
        "function_name": chain.function_name,
        "function_signature": chain.function_signature,
    }
    for index, made in enumerate(chain.steps):
        fields[f"NL_{index}"] = made.nl
        fields[f"PL_{index}"] = made.pl
        fields[f"PL_{index}_results"] = "NA" if made.results is None else list(made.results)
    return fields | changed


def write(path: Path, lines: list) -> Path:
    text = "".join(item if isinstance(item, str) else json.dumps(item) + "\n" for item in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path
