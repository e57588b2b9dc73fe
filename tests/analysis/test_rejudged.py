import pytest

from analysis.recorded import RecordedChain, RecordedStep
from analysis.rejudged import cause_of, compare_results, render_agreement


def chain(*results):
    steps = tuple(RecordedStep("nl", "pl", each) for each in results)
    return RecordedChain("p", "name", "def name():", steps)


@pytest.mark.parametrize(
    ("recorded", "ours", "cause"),
    [
        ("Time Out", "Passed", "time"),
        ("AssertionError: outputs 3", "Time Out", "time"),
        ("Passed", "MemoryError: killed with 900 MiB in use", "budget"),
        ("Passed", "Error: output: too much", "budget"),
        ("Error: a", "SyntaxError: b", "behaviour"),
        ("TypeError: <A at 0x7f1>", "TypeError: <A at 0x...>", "address or line"),
        ("SyntaxError: bad (line 3)", "SyntaxError: bad (line 5)", "address or line"),
        ("AssertionError: outputs 3", "AssertionError: outputs 4", "output"),
        ("TypeError: old words", "TypeError: new words", "wording"),
        ("TypeError: words", "ValueError: words", "behaviour"),
        ("Passed", "AssertionError: outputs 4", "behaviour"),
    ],
)
def test_a_difference_has_a_cause(recorded, ours, cause):
    assert cause_of(recorded, ours).startswith(f"{cause}:")


def test_only_results_that_differ_are_differences():
    found = compare_results(
        [(chain(("Passed", "Passed"), ("Passed",) * 2), chain(("Passed",) * 2, ("Passed", "x")))]
    )
    assert (found.programs, found.results, found.equal) == (2, 4, 3)
    assert [(d.step, d.test, d.recorded, d.ours) for d in found.differences] == [
        (1, 1, "Passed", "x")
    ]


def test_a_skipped_step_has_no_program():
    found = compare_results([(chain(("Passed",), None), chain(("Passed",), None))])
    assert (found.programs, found.results) == (1, 1)


def test_every_difference_is_listed_under_its_cause():
    old, new = chain(("Time Out", "Passed")), chain(("Passed", "x"))
    lines = render_agreement(compare_results([(old, new)]))
    assert lines[0].startswith("0 of 2 results of 1 programs")
    assert [line.strip() for line in lines if "->" in line] == [
        "p step 0 test 0: Time Out -> Passed",
        "p step 0 test 1: Passed -> x",
    ]
