import polars as pl

from analysis.tables import CHAINS, COMPLETIONS, OUTCOMES, STEPS, RunTables
from analysis.trust.roundtrip import ROUND_TRIPS, first_programs, round_trips

SOURCE = "def f(x):\n    return x  # same\n"


def make_run(*matching, problem="p"):
    """One chain of one step for each number of matching tests, of four."""
    chains, steps = [], []
    for sample, matches in enumerate(matching):
        key = {"chain_id": f"{problem}/{sample}", "problem_id": problem, "sample": sample}
        chains.append({**key, "length": 1, "steps": 1, "stop_reason": "length", "stop_step": 1})
        made = {"verdict": "pass", "tests": 4}
        steps.append({**key, **made, "step": 0, "pl": SOURCE, "comparable": 0, "matching": 0})
        steps.append({**key, **made, "step": 1, "pl": "", "comparable": 4, "matching": matches})
    return RunTables(
        chains=pl.LazyFrame(chains, schema=CHAINS),
        steps=pl.LazyFrame(steps, schema=STEPS),
        outcomes=pl.LazyFrame(schema=OUTCOMES),
        completions=pl.LazyFrame(schema=COMPLETIONS),
    )


def programs(**sources):
    rows = [
        {"problem_id": "p", "program_id": name, "source": source}
        for name, source in sources.items()
    ]
    return pl.DataFrame(rows)


def test_a_program_has_the_match_of_chains_that_began_with_it_whatever_its_layout():
    written = programs(same="def f(x): return x", other="def f(x): return 1")
    found = round_trips(written, make_run(4, 1))
    assert found["round_trip"].to_list() == [(1.0 + 0.25) / 2, None]


def test_a_problem_has_the_mean_over_all_its_chains():
    found = round_trips(programs(other="def f(x): return 1"), make_run(4, 2))
    assert found["problem_round_trip"].to_list() == [0.75]


def test_without_a_chain_of_the_problem_both_are_null():
    found = round_trips(programs(a="def f(x): return x"), make_run(4, problem="q"))
    assert found.schema == ROUND_TRIPS
    assert found.row(0) == ("p", "a", None, None)


def test_a_chains_first_program_is_a_sample_with_its_verdict_and_its_match():
    found = first_programs(make_run(4, 1))
    assert found["round_trip"].to_list() == [1.0, 0.25]
    assert found["correct"].to_list() == [True, True]
