from hypothesis import given
from hypothesis import strategies as st

from pipeline.admission import FIRST, Admission, Verdict


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def admission(tokens=None, ends_at=None, spent=0, clock=None):
    return Admission(spent=spent, token_limit=tokens, ends_at=ends_at, clock=clock or Clock())


def names(count, prefix="c"):
    return [f"{prefix}{n}" for n in range(count)]


def start(gate, chains, spent=0):
    return [gate.admit([chain], spent) for chain in chains]


def test_the_first_chains_start_at_once_and_the_others_wait_for_their_cost():
    verdicts = start(admission(tokens=10**6), names(FIRST + 1))
    assert verdicts == [Verdict.NOW] * FIRST + [Verdict.LATER]


def test_nothing_is_concluded_from_the_short_ones_of_the_first_chains():
    gate = admission(tokens=10**6)
    start(gate, names(FIRST))
    for chain in names(FIRST - 1):
        gate.leave(chain, 1)
    assert gate.admit(["late"], 10**6) is Verdict.LATER


def test_a_block_larger_than_the_first_chains_starts_whole():
    assert admission(tokens=10**6).admit(names(3 * FIRST), 0) is Verdict.NOW


def test_a_chain_whose_round_is_made_again_is_not_counted_again():
    gate = admission(tokens=10**6)
    start(gate, names(FIRST))
    assert gate.admit(["c0"], 10**6) is Verdict.NOW


def test_as_many_start_as_can_be_paid_for():
    gate = admission(tokens=10 * (FIRST + 5))
    start(gate, names(FIRST))
    for chain in names(FIRST):
        gate.leave(chain, 10)
    verdicts = start(gate, names(6, "d"), spent=10 * FIRST)
    assert verdicts == [Verdict.NOW] * 5 + [Verdict.LATER]


def test_chains_that_share_answers_leave_more_to_spend():
    gate = admission(tokens=10 * FIRST)
    start(gate, names(FIRST))
    for chain in names(FIRST):
        gate.leave(chain, 10)
    assert gate.admit(["d"], 5 * FIRST) is Verdict.NOW


def test_what_was_paid_before_is_not_there_to_pay_again():
    gate = admission(tokens=10 * (FIRST + 5), spent=50)
    start(gate, names(FIRST))
    for chain in names(FIRST):
        gate.leave(chain, 10)
    assert gate.admit(["d"], 10**6) is Verdict.NEVER


def test_no_chain_starts_that_would_end_after_the_time():
    clock = Clock()
    gate = admission(ends_at=25.0, clock=clock)
    start(gate, names(FIRST))
    clock.now = 10.0
    for chain in names(FIRST):
        gate.leave(chain, 1)
    assert gate.admit(["in time"], 10**6) is Verdict.NOW
    clock.now = 16.0
    assert gate.admit(["late"], 10**6) is Verdict.LATER


def test_a_suspended_chain_shuts_the_gate():
    gate = admission(tokens=10**6)
    gate.admit(["a"], 10**6)
    gate.leave("a", None)
    assert gate.admit(["b"], 10**6) is Verdict.NEVER


@given(costs=st.lists(st.integers(0, 50), min_size=1, max_size=60), limit=st.integers(0, 2000))
def test_every_chain_starts_or_is_refused(costs, limit):
    """Chains come in order, the oldest open one ends when none may start: nobody waits for ever."""
    gate, open_chains, refused = admission(tokens=limit), [], 0
    for number, cost in enumerate(costs):
        while (verdict := gate.admit([str(number)], 10**6)) is Verdict.LATER:
            assert open_chains, "a chain waits for nothing"
            gate.leave(*open_chains.pop(0))
        if verdict is Verdict.NOW:
            open_chains.append((str(number), cost))
        refused += verdict is Verdict.NEVER
    assert refused < len(costs)
