import polars as pl
import pytest

from pipeline.estimate import Costs, estimate_run, probe_size, render_estimate, spread


def completions(*chains):
    """Each chain is a list of (tokens written, seconds); its requests follow one another."""
    rows = []
    for number, requests in enumerate(chains):
        asked_at = 100.0
        for written, seconds in requests:
            rows.append((str(number), 10, written, asked_at, seconds))
            asked_at += seconds
    names = ["chain_id", "prompt_tokens", "completion_tokens", "asked_at", "seconds"]
    return pl.DataFrame(rows, schema=names, orient="row")


MOST = Costs(requests=2, read=20, written=100)
ALIKE = [[(20, 1.0), (30, 2.0)]] * 4


def test_totals_are_the_mean_chain_times_the_number_of_chains():
    estimate = estimate_run(completions(*ALIKE), chains=100, tokens_per_s=50.0, most=MOST)
    assert estimate.requests.value == 200
    assert estimate.tokens_read.value == 2000
    assert estimate.tokens_written.value == 5000


def test_chains_that_are_alike_leave_room_for_one_that_is_not():
    estimate = estimate_run(completions(*ALIKE), chains=100, tokens_per_s=50.0, most=MOST)
    assert (estimate.requests.low, estimate.requests.high) == (100 * 9 / 5, 200)
    assert estimate.tokens_written.high == 100 * (200 + 100) / 5


def test_a_probe_that_made_every_chain_leaves_no_doubt():
    estimate = estimate_run(completions(*ALIKE), chains=4, tokens_per_s=50.0, most=MOST)
    assert estimate.tokens_written.low == estimate.tokens_written.high == 200


def test_chains_that_differ_leave_doubt_on_both_sides():
    frame = completions([(10, 1.0)], [(1000, 1.0)], [(10, 1.0)], [(500, 1.0)])
    amount = estimate_run(frame, chains=40, tokens_per_s=50.0, most=MOST).tokens_written
    assert amount.low < amount.value < amount.high


def test_time_lies_between_a_full_batch_and_that_plus_the_longest_chain():
    estimate = estimate_run(completions(*ALIKE), chains=4, tokens_per_s=50.0, most=MOST)
    assert estimate.least_s == pytest.approx(4.0)
    assert estimate.most_s == pytest.approx(4.0 + 3.0)


def test_a_run_takes_at_least_as_long_as_its_longest_chain():
    estimate = estimate_run(completions(*ALIKE), chains=4, tokens_per_s=1e9, most=MOST)
    assert estimate.least_s == pytest.approx(3.0)


def test_a_failed_request_counts_without_tokens():
    frame = completions([(None, 1.0), (5, 1.0)])
    estimate = estimate_run(frame, chains=1, tokens_per_s=5.0, most=MOST)
    assert (estimate.requests.value, estimate.tokens_written.value) == (2, 5)


@pytest.mark.parametrize(("chains", "size"), [(1, 1), (8, 4), (400, 4), (10_000, 100)])
def test_a_probe_is_one_per_cent_and_at_least_a_few(chains, size):
    assert probe_size(chains) == size


def test_a_probe_takes_problems_from_all_over_the_data_set():
    assert spread(164, 4) == [0, 41, 82, 123]


def test_what_is_printed_has_gpu_hours_only_where_there_are_gpus():
    estimate = estimate_run(completions(*ALIKE * 9000), chains=36000, tokens_per_s=50.0, most=MOST)
    lines = "\n".join(render_estimate(estimate, gpus=8))
    assert "time       10:00:00 to 10:00:03" in lines
    assert "GPU-hours  80.0 to 80.0 on 8 GPUs" in lines
    assert "GPU" not in "\n".join(render_estimate(estimate, gpus=0))
