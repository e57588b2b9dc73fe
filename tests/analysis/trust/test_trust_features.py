import math

import pytest
from matrix_cases import make_tables
from scipy.special import betaln

from analysis.trust.agreement import B4_ALPHA, B4_BETA
from analysis.trust.features import GROUPS, choose_features, program_features, sample_features


def by_program(tables, feature):
    frame = program_features(tables)
    return dict(zip(frame["program_id"], frame[feature], strict=True))


def test_a_pass_rate_is_over_all_sampled_specs_those_that_err_included():
    tables = make_tables({"a": "hhve", "b": "vvve"})
    assert by_program(tables, "io_rate") == {"a": 0.5, "b": 0.0}


def test_specs_of_which_none_could_be_decided_say_nothing():
    tables = make_tables({"a": "ee", "b": "ee"})
    assert by_program(tables, "io_rate") == {"a": None, "b": None}
    assert sample_features(tables)["problem_specs"].to_list() == [0.0, 0.0]


def test_a_spec_that_errs_on_one_program_only_counts_against_it():
    assert by_program(make_tables({"a": "he", "b": "hh"}), "io_rate") == {"a": 0.5, "b": 1.0}


def test_a_cluster_is_all_samples_with_the_same_specs():
    tables = make_tables({"a": "hv", "b": "hv", "c": "vv"}, weights={"a": 3})
    assert by_program(tables, "io_cluster") == {"a": 4.0, "b": 4.0, "c": 1.0}


def test_codet_is_tests_times_the_root_of_programs():
    tables = make_tables({"a": "hhv", "b": "hhv", "c": "vvv"}, weights={"a": 3})
    assert by_program(tables, "codet") == {"a": 4.0, "b": 4.0, "c": 0.0}


def test_b4_is_four_beta_functions():
    # Set {a, b} with tests 0 and 1; of the others, c passes 0 (right) and 2 (wrong).
    tables = make_tables({"a": "hhvv", "b": "hhvv", "c": "hvhv", "d": "vvvv"})
    expected = (
        betaln(1 + 1, 1 + 3)
        + betaln(1 + 1, B4_BETA + 3)
        + betaln(B4_ALPHA + 2, 1 + 2)
        + betaln(B4_ALPHA + 2, 1 + 2)
    )
    assert by_program(tables, "b4")["a"] == pytest.approx(expected)


def test_soft_mbr_is_the_mean_share_with_the_same_output_and_errors_agree_with_nobody():
    tables = make_tables(
        dict.fromkeys("abcd", "h"), outputs={"a": "xx", "b": "xy", "c": "!!", "d": "!!"}
    )
    assert by_program(tables, "mbr") == {"a": 0.375, "b": 0.375, "c": 0.25, "d": 0.25}


def test_an_output_cluster_has_equal_outputs_everywhere():
    tables = make_tables(dict.fromkeys("abc", "h"), outputs={"a": "xy", "b": "xy", "c": "xx"})
    assert by_program(tables, "output_cluster") == {"a": 2 / 3, "b": 2 / 3, "c": 1 / 3}


def test_relations_have_features_of_their_own_and_io_is_unknown():
    tables = make_tables({"a": "hv", "b": "vv"}, kind="relation")
    assert by_program(tables, "relation_soft") == {"a": 0.5, "b": 0.0}
    assert by_program(tables, "io_rate") == {"a": None, "b": None}


def test_one_row_a_sample_and_ranks_are_shares_of_better_ones():
    tables = make_tables({"a": "hh", "b": "hv"}, weights={"a": 3})
    frame = sample_features(tables)
    assert frame["sample"].to_list() == [0, 1, 2, 3]
    assert frame["io_rate_rank"].to_list() == [0.0, 0.0, 0.0, 0.75]


def test_every_feature_is_there_and_no_number_is_lost_in_nan():
    frame = sample_features(make_tables({"a": "hv", "b": "vv"}))
    names = [name for group in GROUPS.values() for name in group]
    values = frame.select(names).to_dict(as_series=False)
    assert not any(v is not None and math.isnan(v) for column in values.values() for v in column)


def test_groups_are_switched_and_what_is_unknown_throughout_is_left_out():
    frame = sample_features(make_tables({"a": "hv", "b": "vv"}))
    assert choose_features(frame, ("IO pass rate", "log-probability")) == ("io_rate",)
    assert "mbr" not in choose_features(frame, without=("soft MBR",))


def test_entropies_are_of_the_clusters():
    tables = make_tables({"a": "h", "b": "v", "c": "v", "d": "v"})
    expected = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert sample_features(tables)["problem_io_entropy"][0] == pytest.approx(expected)
