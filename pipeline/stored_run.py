"""A run folder, finished or not, read for what is asked of it later."""

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis import RunTables, read_run
from conf import RunConfig, UserError
from pipeline.compose import from_plain
from pipeline.datasets import dataset_facts, load_problems
from pipeline.masking import MASK
from pipeline.records import Problem
from pipeline.state import shown_program

_PARTS = ("chain", "dataset", "sandbox", "seed")
_STEP = ("problem_id", "sample", "step", "nl", "pl")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder and what its manifest says of it."""

    path: Path
    tables: RunTables
    config: RunConfig
    """Chain, data set, sandbox and seed as the run had them; the rest is not read."""
    manifest: dict[str, Any]

    @property
    def scoring(self) -> str:
        """What makes this run's verdicts comparable with another's."""
        budget, version = self.config.sandbox, self.manifest["dataset"]["version"]
        return f"strict, {budget.cpu_s:g} s and {budget.memory_mb} MiB a test, data {version}"

    def problems(self) -> dict[str, Problem]:
        """Load the run's problems again, by id.

        Raises:
            UserError: they cannot be loaded, or are not those of the run any more.
        """
        table = load_problems(self.config.dataset)
        digest = dataset_facts(self.config.dataset, table).digest
        if digest != self.manifest["dataset"]["digest"]:
            raise UserError(
                f"{self.path}: the data set {self.manifest['dataset']['origin']} has changed since "
                "the run was made; this needs its problems as they were"
            )
        return {problem["problem_id"]: problem for problem in table.to_pylist()}


def read_stored(path: Path) -> StoredRun:
    """Read a run folder.

    Raises:
        UserError: there is no run.
    """
    if not (path / "manifest.json").is_file():
        raise UserError(f"{path}: no run there (no manifest.json); give a folder under runs/")
    manifest = json.loads((path / "manifest.json").read_text())
    config = from_plain({part: manifest["config"][part] for part in _PARTS})
    return StoredRun(path, read_run(path), config, manifest)


def show_texts(tables: RunTables, problems: dict[str, Problem]) -> RunTables:
    """Return a run with its texts as the model is shown them.

    Programs are without docstrings and, at step 0 too, under the mask, so that two steps can be
    compared as texts; step 0 gets the problem's own description, with calls of the function masked.
    """
    steps = tables.steps.collect()
    rows = [_show(row, problems) for row in steps.select(_STEP).iter_rows(named=True)]
    texts = pl.DataFrame(rows, schema={"nl": pl.String, "pl": pl.String})
    return dataclasses.replace(tables, steps=steps.with_columns(texts["nl"], texts["pl"]).lazy())


def first_texts(tables: RunTables) -> pl.DataFrame:
    """Return each chain's texts of step 0, as ``analysis.run_scores`` takes them."""
    return (
        tables.steps.filter(pl.col("step") == 0)
        .select("problem_id", "sample", "nl", "pl")
        .collect()
    )


def mask_description(text: str, name: str) -> str:
    """Mask a function's name in prose: where it is called, as in examples; a word stays a word."""
    return re.sub(rf"\b{re.escape(name)}(?=\()", MASK, text)


def _show(row: dict[str, Any], problems: dict[str, Problem]) -> dict[str, str | None]:
    problem = problems.get(row["problem_id"])
    if problem is None:
        raise UserError(f"the run's problem {row['problem_id']!r} is not in the data set any more")
    name, program = problem["entry_point"], row["pl"]
    description = row["nl"] if row["step"] else mask_description(problem["docstring"], name)
    if program is not None:
        program = shown_program(program, entry_point=name, step=row["step"])
    return {"nl": description, "pl": program}
