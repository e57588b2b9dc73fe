"""Scores, statistics and reports from a run's tables; polars only, no Ray."""

from analysis.intervals import Estimate
from analysis.metrics import ChainMetrics, StepScores, chain_metrics
from analysis.report import render_report
from analysis.spending import Cost, Spending, measure_spending
from analysis.tables import RunTables, check_complete, read_run
from analysis.unroll import unroll

__all__ = [
    "ChainMetrics",
    "Cost",
    "Estimate",
    "RunTables",
    "Spending",
    "StepScores",
    "chain_metrics",
    "check_complete",
    "measure_spending",
    "read_run",
    "render_report",
    "unroll",
]
