import io
from pathlib import Path

import pytest
from chain_cases import case_of, to_tables
from rich.cells import cell_len
from rich.console import Console

from analysis import Estimate, chain_metrics, render_report
from analysis.report import format_estimate

FILES = {"run folder": Path("runs/now-chain"), "scores": Path("runs/now-chain/metrics.json")}


def shown(cases, *, width=80, files=FILES, encoding="utf-8", wall_s=None, **options) -> str:
    buffer = io.BytesIO()
    file = io.TextIOWrapper(buffer, encoding=encoding)
    console = Console(file=file, width=width)
    metrics = chain_metrics(to_tables(cases), options.pop("length", 3), **options)
    console.print(render_report(metrics, files, wall_s=wall_s))
    file.flush()
    return buffer.getvalue().decode(encoding)


@pytest.fixture
def mixed():
    reasons = ["unparsable", "truncated", "prompt_too_long", "engine_error", "harness"]
    cases = [case_of(reason, 1, "P", problem=reason) for reason in reasons]
    cases += [case_of("length", 3, "PPPP", problem=f"p{i}") for i in range(2000)]
    cases += [case_of("decided", 1, "Pf", problem="d", requests=[("generate", 1, 10**7)])]
    cases += [case_of("fixed_point", 1, "PP", problem="x", cycle=(1, 1))]
    cases += [case_of("cycle", 2, "PPP", problem="y", cycle=(1, 2), closing=(4, 4))]
    return cases


def test_fits_eighty_columns(mixed):
    assert max(cell_len(line) for line in shown(mixed, wall_s=100).splitlines()) <= 80


def test_is_plain_text_without_a_terminal(mixed):
    assert "\x1b" not in shown(mixed)


def test_can_be_shown_in_ascii(mixed):
    assert shown(mixed, encoding="ascii").isascii()


def test_gives_every_score_its_denominator(mixed):
    text = shown(mixed)
    assert "2005 of 2008" in text  # SC: three chains are left out
    assert "2003 of 2008" in text  # TOM at step 1: two more have no program


def test_names_every_ending(mixed):
    text = shown(mixed)
    for reason in ("decided", "unparsable", "harness", "fixed_point"):
        assert reason in text


def test_keeps_the_estimated_saving_apart_only_where_there_is_one(mixed):
    assert "about" in shown(mixed)
    assert "about" not in shown([case_of("length", 3, "PPPP")])


def test_a_path_is_never_cut_off():
    path = Path("/" + "deep/" * 40 + "metrics.json")
    assert str(path) in shown([], files={"scores": path}).replace("\n", "")


def test_words_in_brackets_are_not_markup():
    assert "[red]x" in shown([], files={"scores": Path("[red]x")})


def test_an_empty_run_says_so_without_tables():
    text = shown([])
    assert "0 chains of 0 problems" in text
    assert "SSC" not in text


def test_shows_the_pace_where_the_time_is_known():
    case = case_of("length", 0, "P", length=0, requests=[("generate", 0, 500)])
    assert "Took 0:50 minutes, 10.0 tokens" in shown([case], length=0, wall_s=50)


def test_an_undefined_score_is_a_dash_with_its_denominator():
    assert format_estimate(Estimate(None, None, None, n=0, of=8)).plain == "-\n0 of 8"


def test_lists_every_pass_at_k_asked_for():
    cases = [case_of("length", 0, "P", length=0, sample=i) for i in range(3)]
    assert "pass@3: 100.0 % (3 of 3 chains)" in shown(cases, length=0, ks=(1, 3))
