import io

from rich.console import Console

from analysis.sweep_table import render_sweep

HALF = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 4, "of": 8, "method": "wilson"}


def metrics(step):
    scores = {"tom": HALF, "sc": HALF, "ssc": HALF, "pfm": HALF}
    steps = [{"step": n, **scores} for n in range(1, step + 1)]
    return {"chains": 8, "pass_at": {"1": HALF}, "steps": steps}


def shown(points):
    screen = io.StringIO()
    Console(file=screen, width=80).print(render_sweep(points, "runs/x"))
    return screen.getvalue()


def test_every_point_is_a_row_with_what_was_varied_and_its_scores():
    text = shown(
        [
            {
                "name": "00-1-a",
                "chosen": {"chain.length": "1", "chain.stop": "[cycle]"},
                "metrics": metrics(1),
                "failure": None,
            },
            {
                "name": "01-2-b",
                "chosen": {"chain.length": "2", "chain.stop": "[a,b]"},
                "metrics": metrics(2),
                "failure": None,
            },
        ]
    )
    assert text.count("25.0-75.0") == 8
    for word in ("length", "[cycle]", "[a,b]", "runs/x"):
        assert word in text


def test_a_point_that_was_not_made_says_why():
    text = shown([{"name": "00-a", "chosen": {}, "metrics": None, "failure": "no GPU"}])
    assert "not finished: 00-a: no GPU" in text
    assert "00-a" in text.partition("not finished")[0]


def test_a_point_that_its_budget_stopped_is_marked():
    partial = metrics(1) | {"partial": {"reason": "budget.tokens=9 is spent"}}
    text = shown([{"name": "00-a", "chosen": {}, "metrics": partial, "failure": None}])
    assert "8 partial" in text
    assert "not finished: 00-a: budget.tokens=9 is spent" in text
