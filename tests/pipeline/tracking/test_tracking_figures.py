import json

from pipeline.compose import load_config, to_plain
from pipeline.tracking.figures import score_figures, step_figures, told_config

KNOWN = {"value": 0.5, "low": 0.25, "high": 0.75, "n": 4, "of": 8, "method": "wilson"}
UNKNOWN = {"value": None, "low": None, "high": None, "n": 0, "of": 8, "method": None}
METRICS = {
    "pass_at": {"1": KNOWN},
    "steps": [{"step": 1, "tom": KNOWN, "sc": UNKNOWN}],
    "endless": {"sc": KNOWN, "closed": 3},
    "endings": [{"reason": "cycle", "chains": 3, "mean_step": 2.0}],
    "spending": {"spent": {"requests": 7}},
}


def test_scores_come_with_their_intervals_and_without_what_is_undefined():
    figures = score_figures(METRICS)
    assert (figures["tom_1"], figures["tom_1/low"]) == (0.5, 0.25)
    assert figures["pass@1/n"] == 4
    assert figures["endings/cycle"] == 3
    assert figures["spent/requests"] == 7
    assert [name for name in figures if name.startswith("sc_")] == []


def test_each_step_is_a_row():
    (row,) = step_figures(METRICS)
    assert row == {"step": 1, "tom": 0.5, "tom/low": 0.25, "tom/high": 0.75, "tom/n": 4}


def test_prompt_texts_and_environment_values_stay_here():
    words = ["engine.env.TOKEN=secret", "example=clamp", "chain.describer=starcoderbase"]
    plain = to_plain(load_config(words))
    told = json.dumps(told_config(plain, texts=False))
    for kept in ("secret", plain["prompt"]["generate_user"], plain["example"]["program"]):
        assert json.dumps(kept)[1:-1] not in told
    assert "generate_user" not in told
    assert '"TOKEN"' in told
    assert "starcoderbase" in told


def test_prompt_texts_go_along_when_asked_for():
    plain = to_plain(load_config([]))
    assert told_config(plain, texts=True)["prompt"] == plain["prompt"]
