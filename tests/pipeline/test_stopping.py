from hypothesis import given
from hypothesis import strategies as st

from conf import ChainConfig, RunConfig, SamplingConfig
from pipeline.records import StopReason
from pipeline.stopping import allowed_closure, find_closure, mismatched


def test_no_repeated_prompt_is_no_closure():
    assert find_closure([(1, "a"), (2, "b")], "c", 3) is None


def test_a_prompt_equal_to_its_neighbour_is_a_fixed_point():
    closure = find_closure([(1, "a"), (2, "b")], "b", 3)
    assert closure is not None
    assert (closure.start, closure.length, closure.reason) == (2, 1, StopReason.FIXED_POINT)


def test_a_prompt_from_further_back_is_a_cycle():
    closure = find_closure([(1, "a"), (2, "b")], "a", 3)
    assert closure is not None
    assert (closure.start, closure.length, closure.reason) == (1, 2, StopReason.CYCLE)


@given(st.dictionaries(st.integers(0, 3), st.integers(0, 3), min_size=4, max_size=4))
def test_a_closure_predicts_every_later_state_of_a_deterministic_walk(step_to):
    states = [0]
    closure = None
    while closure is None:
        following = step_to[states[-1]]
        sent = [(step, str(state)) for step, state in enumerate(states)]
        closure = find_closure(sent, str(following), len(states))
        states.append(following)
    for step in range(closure.start, 12):
        predicted = states[closure.start + (step - closure.start) % closure.length]
        actual = 0
        for _ in range(step):
            actual = step_to[actual]
        assert predicted == actual


def test_a_temperature_forbids_closing():
    sampled = RunConfig(chain=ChainConfig(sampling=SamplingConfig(temperature=0.2)))
    assert allowed_closure(sampled, "p/0", [(1, "a")], "a", 2) is None


def test_a_rule_that_is_off_does_not_close():
    config = RunConfig(chain=ChainConfig(stop=["cycle"]))
    assert allowed_closure(config, "p/0", [(1, "a")], "a", 2) is None
    config = RunConfig(chain=ChainConfig(stop=["fixed_point"]))
    assert allowed_closure(config, "p/0", [(1, "a"), (2, "b")], "a", 3) is None


def test_a_test_that_cannot_be_compared_is_no_mismatch():
    outcome = {"matches_previous": None}
    assert not mismatched([outcome])  # type: ignore[list-item]
    assert mismatched([outcome, {"matches_previous": False}])  # type: ignore[list-item]
