"""The report of a trust run for the terminal: what was answered, and how it was decided."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from analysis.intervals import Estimate
from analysis.trust.answers import has_labels, right_shares

WIDEST = 160
_SHARES = {
    "answered_right": "right among the answers given",
    "chosen_right": "right among all chosen",
    "random_right": "right if one were drawn at random",
    "any_right": "problems with a right program among the samples",
}


def render_answers(
    answers: pl.DataFrame,
    explanations: pl.DataFrame,
    problems: pl.DataFrame,
    specs: pl.DataFrame,
    files: Mapping[str, object],
    *,
    shown: int,
    notes: tuple[str, ...] = (),
) -> RenderableType:
    """Return what a trust run prints at its end.

    Args:
        answers: schema ``ANSWERS``.
        explanations: the specs shown with the answers: schema ``EXPLANATIONS``, with examples of
            ``args`` and ``value``.
        problems: the run's table of that name.
        specs: likewise.
        files: what lies where, by a word or two.
        shown: problems to show one by one.
        notes: lines to add, such as warnings.
    """
    parts: list[RenderableType] = [Text(_headline(answers, problems), style="bold")]
    parts += list(_endings(problems))
    if answers.height:
        parts += [*([_each(answers.head(shown))] if shown else []), _figures(answers)]
        parts += list(_explained(answers.filter("answered").head(shown), explanations))
        if answers.height > shown:
            parts.append(Text(f"{answers.height - shown} more problems: see the answers' file"))
    parts += [Text(line) for line in (*_specs(specs, problems), *_cost(problems), *notes)]
    return Group(*parts, _files(files))


def _headline(answers: pl.DataFrame, problems: pl.DataFrame) -> str:
    drawn = int(answers["drawn"].sum())
    return f"{problems.height} problems, {drawn} programs sampled"


def _endings(problems: pl.DataFrame) -> Iterator[Text]:
    for row in problems.filter(pl.col("stop_reason").is_not_null()).iter_rows(named=True):
        yield Text(f"{row['problem_id']}: no programs ({row['stop_reason']}): {row['message']}")


def _each(answers: pl.DataFrame) -> Table:
    table = Table(box=box.HORIZONTALS, title="Chosen programs", title_justify="left")
    for name in ("problem", "program", "drawn", "probability", "answer", "right"):
        justify = "right" if name in ("drawn", "probability") else "left"
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in answers.iter_rows(named=True):
        table.add_row(
            row["problem_id"],
            row["program_id"],
            f"{row['samples']} of {row['drawn']}",
            "-" if row["probability"] is None else f"{row['probability']:.3f}",
            "given" if row["answered"] else "declined",
            {None: "unknown", True: "yes", False: "no"}[row["correct"]],
        )
    return table


def _explained(answers: pl.DataFrame, explanations: pl.DataFrame) -> Iterator[Text]:
    """Yield what speaks for each answer: its specs, and inputs on which they were tested."""
    if answers.height and explanations.height:
        yield Text("Specs that tell the chosen program from the others", style="bold")
    for problem, program in answers.select("problem_id", "program_id").iter_rows():
        specs = explanations.filter(pl.col("problem_id") == problem)
        yield Text(f"{problem} {program}" + ("" if specs.height else ": none"))
        for spec in specs.iter_rows(named=True):
            yield Text("\n".join(_spec(spec)))


def _spec(spec: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {spec['rank']}. {_short(spec['source'])}"
    on = "" if spec["kind"] == "io" else f", holds on {spec['tested_on']} inputs"
    yield f"     {spec['kind']}, log ratio {spec['criterion']:.2f}, sampled {spec['samples']}x{on}"
    for example in spec["examples"]:
        yield f"     ({_short(example['args'])}) -> {_short(example['value'])}"


def _short(text: str) -> str:
    """Return one line without the comments that stand on lines of their own."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    line = " ".join(" ".join(lines).split())
    return line if len(line) <= WIDEST else line[:WIDEST] + "..."


def _figures(answers: pl.DataFrame) -> RenderableType:
    given = answers.filter("answered")
    lines = [f"answered {given.height} of {answers.height} problems"]
    if has_labels(answers):
        shares = right_shares(answers)
        lines += [_share(text, shares[name]) for name, text in _SHARES.items()]
    return Text("\n".join(lines))


def _share(what: str, share: Estimate) -> str:
    if share.value is None or share.low is None or share.high is None:
        return f"{what}: -"
    ends = f"{100 * share.low:.1f}-{100 * share.high:.1f}"
    return f"{what}: {100 * share.value:.1f} % ({ends}), n = {share.n}"


def _specs(specs: pl.DataFrame, problems: pl.DataFrame) -> Iterator[str]:
    """Say how many specs there were, and plainly where a kind says nothing."""
    broken = pl.col("form") == "broken"
    counts = {
        kind: (of_kind.height, of_kind.filter(broken).height)
        for kind in ("io", "relation")
        for of_kind in [specs.filter(pl.col("kind") == kind)]
    }
    yield "specs: " + ", ".join(
        f"{total:,} distinct {name} ({bad:,} of them broken)"
        for name, (total, bad) in zip(("asserts", "relations"), counts.values(), strict=True)
    )
    total, bad = counts["relation"]
    if total == bad:
        yield (
            "NO RELATION could be used: no sampled text holds a sound assert over return_value, so "
            "all that relations would tell is unknown (null)"
        )
    elif not problems["relation_checks"].sum():
        yield (
            "NO RELATION was tested: there are no inputs, as no sampled assert calls the function "
            "with literals (trust.inputs=both asks the model for calls)"
        )
    if counts["io"][0] == counts["io"][1]:
        yield "NO ASSERT could be used, so all that asserts would tell is unknown (null)"


def _cost(problems: pl.DataFrame) -> Iterator[str]:
    names = ("programs", "cells", "relation_checks", "relation_runs", "cpu_s")
    sums = {name: float(problems[name].sum()) for name in names}
    programs, cpu_s = sums["programs"], sums["cpu_s"]
    if not programs or not cpu_s:
        return
    yield (
        f"checked {programs:,.0f} distinct programs: {sums['cells']:,.0f} program x IO spec, "
        f"{sums['relation_checks']:,.0f} program x relation x input "
        f"({sums['relation_runs']:,.0f} run)"
    )
    yield (
        f"in {cpu_s:,.1f} CPU s: {cpu_s / programs:.3f} s a program; a CPU second: "
        f"{programs / cpu_s:,.1f} programs, {sums['cells'] / cpu_s:,.0f} cells, "
        f"{sums['relation_checks'] / cpu_s:,.0f} relation checks"
    )


def _files(files: Mapping[str, object]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for what, path in files.items():
        table.add_row(what, Text(str(path), overflow="fold"))
    return table
