import io
from collections import Counter

from rich.console import Console

from conf import RunConfig
from pipeline.board import Standing, count_step
from pipeline.plan import make_plan
from pipeline.progress import PLAIN_EVERY_S, Progress


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _progress(terminal, already=0):
    clock = Clock()
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=200)
    plan = make_plan(RunConfig(), chains=8, cpus=2)
    return Progress(console, plan, already=already, clock=clock), clock, screen


def test_the_line_counts_chains_steps_and_tokens_a_second():
    progress, clock, _ = _progress(terminal=False)
    progress.finished.chains, progress.finished.stopped_early = 2, 1
    clock.now = 10.0
    line = progress.line(Standing(tokens=500, requests=20, steps_done=Counter({0: 8, 1: 5})))
    assert line.startswith(
        "chains 2/8 | stopped early 1 | steps done 0:8 1:5 2:0 3:0 | 50 tokens/s"
    )


def test_chains_of_an_earlier_start_count_as_done():
    progress, _, _ = _progress(terminal=False, already=3)
    assert progress.line(Standing()).startswith("chains 3/11")


def test_time_left_follows_the_share_of_requests_made():
    progress, clock, _ = _progress(terminal=False)
    clock.now = 60.0
    assert progress.line(Standing(requests=28)).endswith("left 1:00")


def test_nothing_is_promised_before_the_first_answer():
    progress, _, _ = _progress(terminal=False)
    assert progress.line(Standing()).endswith("left ?")


def test_without_a_terminal_lines_come_rarely_and_only_when_something_changed():
    progress, clock, screen = _progress(terminal=False)
    for now, requests in ((0, 1), (1, 2), (PLAIN_EVERY_S, 3), (3 * PLAIN_EVERY_S, 3)):
        clock.now = now
        progress.show(Standing(requests=requests))
    assert 2 <= len(screen.getvalue().splitlines()) <= 3
    assert "\r" not in screen.getvalue()


def test_on_a_terminal_the_line_is_drawn_over_itself():
    progress, _, screen = _progress(terminal=True)
    progress.show(Standing())
    progress.show(Standing())
    assert screen.getvalue().count("\r") == 2
    assert "\n" not in screen.getvalue()


def test_a_step_is_counted_only_for_chains_that_made_it():
    answer = {"answer": {"completion_tokens": 7}}
    made = {"steps": [{"index": 1, "summary": answer, "generation": answer}]}
    passed_by = {"steps": [{"index": 0, "summary": None, "generation": answer}]}
    assert count_step([made, passed_by], 1) == (1, 2, 14)
