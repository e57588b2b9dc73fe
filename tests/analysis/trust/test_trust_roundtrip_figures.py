import polars as pl
import pytest

from analysis.trust.roundtrip_figures import relate_round_trips


def frame(*rows):
    columns = {"problem_id": pl.String, "round_trip": pl.Float64, "correct": pl.Boolean}
    return pl.DataFrame(list(rows), schema=columns, orient="row")


def test_shares_are_of_samples_that_survive_and_of_the_others():
    found = relate_round_trips(
        frame(("a", 1.0, True), ("a", 1.0, False), ("b", 0.5, False), ("b", 0.0, False))
    )
    assert (found.samples, found.problems, found.consistent) == (4, 2, 2)
    shares = (found.right_consistent.value, found.right_other.value, found.difference.value)
    assert shares == (0.5, 0.0, 0.5)


def test_within_problems_only_pairs_of_one_problem_count():
    found = relate_round_trips(
        frame(("a", 0.1, True), ("a", 0.0, False), ("b", 1.0, False), ("b", 0.9, False))
    )
    assert found.within.value == 1.0
    assert found.auroc.value == pytest.approx(1 / 3)


def test_samples_without_chain_or_label_do_not_count():
    found = relate_round_trips(frame(("a", None, True), ("a", 1.0, None)))
    assert found.samples == 0
    assert found.auroc.value is None
    assert "-" in "\n".join(found.lines())
