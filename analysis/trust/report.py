"""The report of a trust run as plain text."""

from collections.abc import Mapping, Sequence

from analysis.trust.ablation import Gain
from analysis.trust.calibration import Bin
from analysis.trust.calibration_intervals import FIGURES
from analysis.trust.evaluate import Evaluation
from analysis.trust.explain_scores import ExplanationScore
from analysis.trust.figures import Figure

_HEAD = (
    f"{'score':<24}{'pass@1':>20}{'@2':>6}{'@5':>6}{'@10':>6}{'PR-AUC':>20}{'F1':>6}{'R@P.9':>7}"
    f"{'AUROC':>20}{'ECE':>6}{'mass':>6}{'Brier':>7}{'skill':>7}{'loss':>6}{'ECE top':>9}"
)


def render_scores(evaluations: Sequence[Evaluation]) -> str:
    """Return one line a score; brackets hold 95 % intervals, ECE top is of chosen programs."""
    return "\n".join([_HEAD, *map(_line, evaluations)])


def render_differences(pairs: Sequence[tuple[str, str, Figure, Figure]]) -> str:
    """Return one line a pair of scores: differences of pass@1 and of the PR area."""
    lines = [
        f"{f'{one} - {other}':<50}{_interval(at_one):>24}{_interval(area):>24}"
        for one, other, at_one, area in pairs
    ]
    head = f"{'paired difference':<50}{'pass@1':>24}{'PR-AUC':>24}"
    return "\n".join([head, *lines])


def render_bins(bins: Sequence[Bin]) -> str:
    """Return one line a bin of a reliability diagram."""
    lines = [
        f"{f'{b.low:.1f} - {b.high:.1f}':<12}{b.n:>8}{_number(b.score):>8}{_number(b.right):>8}"
        for b in bins
    ]
    return "\n".join([f"{'score':<12}{'n':>8}{'mean':>8}{'right':>8}", *lines])


def render_calibration(evaluations: Sequence[Evaluation]) -> str:
    """Return two lines a probability: calibration of all programs, and of chosen ones."""
    lines = [
        f"{e.name:<24}{which:<9}{''.join(f'{_interval(figures[f]):>22}' for f in FIGURES)}"
        for e in evaluations
        for which, figures in (("programs", e.program_figures), ("chosen", e.chosen_figures))
        if figures
    ]
    return "\n".join(
        [f"{'calibration':<24}{'of':<9}{''.join(f'{f:>22}' for f in FIGURES)}", *lines]
    )


def render_curve(head: str, points: Mapping[float, Figure]) -> str:
    """Return one line a point of a curve."""
    return "\n".join([head, *(f"{at:>8.0%}  {_interval(f)}" for at, f in points.items())])


def render_gains(gains: Sequence[Gain]) -> str:
    """Return one line a group of features: what it adds to all others, and to the paper's."""
    lines = [
        f"{g.group:<22}{_interval(g.last_at_one):>24}{_interval(g.last_area):>24}"
        f"{_interval(g.first_at_one):>24}{_interval(g.first_area):>24}"
        for g in gains
    ]
    heads = ("to others: pass@1", "PR-AUC", "to the paper's: pass@1", "PR-AUC")
    return "\n".join([f"{'gain of features':<22}{''.join(f'{h:>24}' for h in heads)}", *lines])


def render_explanations(scores: Mapping[tuple[str, int, str], ExplanationScore]) -> str:
    """Return one line for each kind of specs, number shown, and criterion."""
    lines = [
        f"{kind:<10}{shown:>6}  {name:<18}{score.problems:>9}{_number(score.true_when_right):>9}"
        f"{_number(score.kill_when_right):>9}{_interval(score.ideal_reader):>22}"
        for (kind, shown, name), score in scores.items()
    ]
    head = f"{'specs':<10}{'shown':>6}  {'criterion':<18}{'problems':>9}{'true':>9}{'kill':>9}"
    return "\n".join([f"{head}{'ideal reader':>22}", *lines])


def _line(e: Evaluation) -> str:
    text = (
        f"{e.name:<24}{_interval(e.pass_at[1]):>20}{_number(e.pass_at[2].value):>6}"
        f"{_number(e.pass_at[5].value):>6}{_number(e.pass_at[10].value):>6}"
        f"{_interval(e.area):>20}{_number(e.max_f1.value):>6}{_number(e.recall_at_90.value):>7}"
        f"{_interval(e.auroc):>20}"
    )
    if e.programs is None or e.chosen is None:
        return text
    p = e.programs
    return (
        f"{text}{_number(p.ece):>6}{_number(p.ece_mass):>6}{_number(p.brier):>7}"
        f"{_number(p.skill):>7}{_number(p.log_loss):>6}{_number(e.chosen.ece):>9}"
    )


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return _number(figure.value)
    return f"{_number(figure.value)} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 else text
