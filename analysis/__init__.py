"""Scores, statistics and reports from a run's tables; polars only, no Ray."""

from analysis.audit import Audit, audit_run, render_audit
from analysis.blame import Blame, measure_blame, render_blame
from analysis.compare import Comparison, Run, compare_runs
from analysis.compare_report import render_comparison
from analysis.correlate import Correlations, correlate, read_labels, render_correlations
from analysis.intervals import Estimate
from analysis.metrics import ChainMetrics, StepScores, chain_metrics
from analysis.recorded import read_recorded
from analysis.reference import SCORINGS, rules_of
from analysis.report import render_report
from analysis.rescore import RescoreReport, render_rescore, rescore, rescore_chains
from analysis.retold import retell_run, tell_results
from analysis.score_tables import recorded_scores, run_scores
from analysis.spending import Cost, Spending, measure_spending
from analysis.tables import RunTables, check_complete, read_run
from analysis.text_metrics import default_columns, score_texts
from analysis.unroll import unroll

__all__ = [
    "SCORINGS",
    "Audit",
    "Blame",
    "ChainMetrics",
    "Comparison",
    "Correlations",
    "Cost",
    "Estimate",
    "RescoreReport",
    "Run",
    "RunTables",
    "Spending",
    "StepScores",
    "audit_run",
    "chain_metrics",
    "check_complete",
    "compare_runs",
    "correlate",
    "default_columns",
    "measure_blame",
    "measure_spending",
    "read_labels",
    "read_recorded",
    "read_run",
    "recorded_scores",
    "render_audit",
    "render_blame",
    "render_comparison",
    "render_correlations",
    "render_report",
    "render_rescore",
    "rescore",
    "rescore_chains",
    "retell_run",
    "rules_of",
    "run_scores",
    "score_texts",
    "tell_results",
    "unroll",
]
