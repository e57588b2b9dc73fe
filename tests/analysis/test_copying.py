import polars as pl
import pytest

from analysis.copying import copied_descriptions, copied_share, measure_copying
from analysis.tables import CHAINS, COMPLETIONS, OUTCOMES, STEPS, RunTables

PROGRAM = (
    "def func(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"
)


def test_a_description_in_words_copies_nothing():
    assert copied_share("Adds up the whole numbers below n and returns the sum.", PROGRAM) == 0


def test_quoting_the_code_in_another_layout_copies_all_of_it():
    text = "It does total = 0; no: total=0 for i in range(n): total+=i return total"
    assert copied_share(text, PROGRAM) == 1


def test_the_signature_alone_is_no_copy():
    assert copied_share("def func(n): adds numbers", PROGRAM) == 0


def test_comments_and_layout_of_the_program_do_not_matter():
    spaced = PROGRAM.replace("total = 0", "total   =   0  # start")
    text = "total = 0 for i in range(n): total += i return total"
    assert copied_share(text, spaced) == 1


@pytest.mark.parametrize("program", ["def func(n):\n    return n\n", "", "x"])
def test_a_program_shorter_than_a_run_cannot_tell(program):
    assert copied_share("return n", program) is None


def test_a_program_that_does_not_parse_is_taken_as_it_is():
    assert copied_share("a b c d e f )", "a b c d e f )") == 1


def run_of(*chains):
    """Chains of step 0 and 1, each by its description; all keep their behaviour."""
    key = [{"chain_id": f"{n}/0", "problem_id": str(n), "sample": 0} for n in range(len(chains))]
    rows = [
        {
            **key[n],
            "step": step,
            "nl": nl if step else None,
            "pl": PROGRAM,
            "verdict": "pass",
            "tests": 1,
            "comparable": step,
            "matching": step * (n % 2),
        }
        for n, nl in enumerate(chains)
        for step in (0, 1)
    ]
    outcomes = [
        {
            **key[n],
            "step": step,
            "test_id": "0",
            "matches_previous": bool(n % 2) if step else None,
        }
        for n in range(len(chains))
        for step in (0, 1)
    ]
    ends = [
        {**k, "dataset": "d", "length": 1, "steps": 2, "stop_reason": "length", "stop_step": 1}
        for k in key
    ]
    return RunTables(
        chains=pl.LazyFrame(ends, schema=CHAINS),
        steps=pl.LazyFrame(rows, schema=STEPS),
        outcomes=pl.LazyFrame(outcomes, schema=OUTCOMES),
        completions=pl.LazyFrame(schema=COMPLETIONS),
    )


COPY = "total = 0 for i in range(n): total += i return total"


def test_a_description_is_held_against_the_program_before_it():
    rows = copied_descriptions(run_of("Adds.", COPY)).sort("chain_id").rows()
    assert rows == [("0/0", 1, 0.0), ("1/0", 1, 1.0)]


def test_sc_without_copied_code_leaves_out_the_chains_that_copy():
    found = measure_copying(run_of("Adds.", COPY), 1)
    assert (found.descriptions, found.measured, found.copying, found.chains) == (2, 2, 1, 1)
    ((step, every, others),) = found.sc
    assert (step, every.value, others.value, others.n) == (1, 0.5, 0.0, 1)
