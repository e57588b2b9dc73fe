"""How far each metric agrees with given labels: ``correlate RUN LABELS.csv``.

The paper's comparison (IdentityChain, arXiv 2310.14053, section 5): three coefficients, over all
rows and apart for those whose first program passes and fails, since where it passes TOM = 1 and
P/FM are the same thing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.libraries import need
from analysis.text_metrics import EXTRA
from conf import UserError

LABELS = pl.Schema({"problem_id": pl.String, "sample": pl.Int32, "label": pl.Float64})
KEYS = ("problem_id", "sample", "passed")
SUBSETS: Mapping[str, pl.Expr] = {
    "all": pl.lit(True),
    "program 0 passes": pl.col("passed"),
    "program 0 fails": ~pl.col("passed"),
}
FEWEST = 3
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Correlation:
    """One metric with the labels, in [-1, 1]; null where undefined."""

    metric: str
    subset: str
    n: int
    """Rows that have both the metric and a label."""
    pearson: float | None
    spearman: float | None
    kendall: float | None
    """Kendall's tau-b."""
    reason: str | None
    """Why the three are undefined."""


@dataclass(frozen=True, slots=True)
class Correlations:
    """All metrics on all subsets."""

    rows: tuple[Correlation, ...]
    labelled: int
    """Rows of the scores with a label."""
    unlabelled: int
    """Rows of the scores without one: they are left out."""
    unused: int
    """Labels for which there is no row: they are left out."""


def read_labels(path: Path) -> pl.DataFrame:
    """Read labels from a CSV file with the columns problem_id, label and, if needed, sample.

    A label is a number, or true or false. Other columns are left aside.

    Returns:
        Schema ``LABELS``; sample is null where the file has no such column.

    Raises:
        UserError: the file is not such a table; names the row, counted without the header.
    """
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"{path}: cannot be read as CSV: {error}") from error
    for name in ("problem_id", "label"):
        if name not in table.columns:
            raise UserError(f"{path}: has no column {name!r}; it needs problem_id,label[,sample]")
    if "sample" not in table.columns:
        table = table.with_columns(sample=pl.lit(None, pl.String))
    rows = [
        _read_row(f"{path}, row {number}", row)
        for number, row in enumerate(table.iter_rows(named=True), start=1)
    ]
    labels = pl.DataFrame(rows, schema=LABELS, orient="row")
    twice = labels.filter(labels.select("problem_id", "sample").is_duplicated())
    if not twice.is_empty():
        raise UserError(f"{path}: problem {twice['problem_id'][0]!r} has more than one label")
    return labels


def correlate(scores: pl.DataFrame, labels: pl.DataFrame) -> Correlations:
    """Correlate every metric with the labels.

    Args:
        scores: one row a chain: problem_id, sample, passed (of program 0), and metrics as numbers
            or yes/no in all other columns.
        labels: schema ``LABELS``.

    Raises:
        UserError: no label fits a row, or labels without samples meet several chains a problem;
            or the extra ``metrics`` is not installed.
    """
    joined = _join(scores, labels)
    metrics = [name for name in scores.columns if name not in KEYS]
    return Correlations(
        rows=tuple(
            _correlation(joined.filter(condition), metric, subset)
            for metric in metrics
            for subset, condition in SUBSETS.items()
        ),
        labelled=joined.height,
        unlabelled=scores.height - joined.height,
        unused=labels.height - joined.height,
    )


def render_correlations(correlations: Correlations) -> RenderableType:
    """Return the coefficients as one table, a section a subset."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for heading in ("n", "Pearson", "Spearman", "Kendall"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("undefined because")
    for subset in SUBSETS:
        table.add_section()
        table.add_row(Text(subset, style="bold"))
        for row in correlations.rows:
            if row.subset == subset:
                coefficients = map(_show, (row.pearson, row.spearman, row.kendall))
                table.add_row(f"  {row.metric}", str(row.n), *coefficients, row.reason)
    return Group(table, *(Text(line, style="dim") for line in _notes(correlations)))


def _read_row(where: str, row: dict[str, str | None]) -> tuple[str, int | None, float]:
    problem, sample, label = row["problem_id"], row["sample"], (row["label"] or "").strip()
    if not problem:
        raise UserError(f"{where}: problem_id is empty")
    try:
        number = int(sample) if sample is not None else None
        value = _WORDS[label.lower()] if label.lower() in _WORDS else float(label)
    except ValueError as error:
        raise UserError(f"{where}: sample and label must be numbers: {error}") from error
    if not math.isfinite(value):
        raise UserError(f"{where}: label {label!r} is not a finite number")
    return problem, number, value


def _join(scores: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    keys = ["problem_id", "sample"]
    if labels["sample"].null_count() == labels.height:
        if scores["problem_id"].is_duplicated().any():
            raise UserError("there are several chains a problem; the labels need a column sample")
        keys, labels = ["problem_id"], labels.drop("sample")
    joined = scores.join(labels, keys, how="inner")
    if joined.is_empty():
        raise UserError("no label fits a chain; is problem_id spelt as in the run?")
    # Sums of floats depend on their order, and a label file may have any.
    return joined.sort("problem_id", "sample")


def _correlation(rows: pl.DataFrame, metric: str, subset: str) -> Correlation:
    known = rows.select(pl.col(metric).cast(pl.Float64), "label").drop_nulls()
    values, labels = known[metric].to_numpy(), known["label"].to_numpy()
    reason = _why_undefined(values, labels)
    if reason is not None:
        return Correlation(metric, subset, known.height, None, None, None, reason)
    stats = need("scipy.stats", extra=EXTRA)
    return Correlation(
        metric,
        subset,
        known.height,
        pearson=float(stats.pearsonr(values, labels).statistic),
        spearman=float(stats.spearmanr(values, labels).statistic),
        kendall=float(stats.kendalltau(values, labels).statistic),
        reason=None,
    )


def _why_undefined(values: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> str | None:
    if len(values) < FEWEST:
        return f"fewer than {FEWEST} rows"
    if values.min() == values.max():
        return f"the metric is {values[0]:g} in every row"
    if labels.min() == labels.max():
        return f"the label is {labels[0]:g} in every row"
    return None


def _show(coefficient: float | None) -> str:
    return "-" if coefficient is None else f"{coefficient:.3f}"


def _notes(correlations: Correlations) -> list[str]:
    notes = []
    if correlations.unlabelled:
        notes.append(f"{correlations.unlabelled} chains have no label and are left out.")
    if correlations.unused:
        notes.append(f"{correlations.unused} labels have no chain and are left out.")
    return notes
