from serve.messages import Completion, Failure
from serve.probe import compare_answers


def said(text, logprob=-1.0):
    return Completion(text, "prompt", 3, 2, "stop", logprob)


def test_equal_answers_are_batch_invariant():
    probe = compare_answers([said("a"), said("b")], [said("a"), said("b")])
    assert (probe.batch_invariant, probe.differing, probe.logprobs_equal) == (True, 0, True)


def test_one_other_text_is_proof_of_the_contrary():
    probe = compare_answers([said("a"), said("b")], [said("a"), said("c")])
    assert (probe.batch_invariant, probe.differing) == (False, 1)


def test_equal_texts_of_other_probability_are_told():
    probe = compare_answers([said("a")], [said("a", -1.0000001)])
    assert (probe.batch_invariant, probe.logprobs_equal) == (True, False)


def test_a_request_that_failed_leaves_it_open():
    probe = compare_answers([said("a")], [Failure("engine_error", "died")])
    assert (probe.batch_invariant, probe.logprobs_equal) == (None, None)
