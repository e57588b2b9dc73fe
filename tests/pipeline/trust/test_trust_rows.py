import pytest
from trust_cases import PROBLEM

from conf import PromptConfig, RunConfig, TrustConfig
from pipeline.trust.roles import TRUST_ROLES
from pipeline.trust.rows import open_rows, read_answers, samples_of, stored_rows
from pipeline.trust.schemas import TRUST_ROW


def an_answer(text, logprob=-2.0, tokens=4):
    return {
        "request_id": "r",
        "prompt_key": "k",
        "prompt": "p",
        "text": text,
        "prompt_tokens": 1,
        "completion_tokens": tokens,
        "finish_reason": "stop",
        "logprob": logprob,
        "attempts": 1,
        "asked_at": 0.0,
        "seconds": 0.0,
        "error_kind": None if text is not None else "engine_error",
        "error_message": None,
    }


def read(config=None, **texts):
    answers = {role: list(map(an_answer, texts.get(role, []))) for role in TRUST_ROLES}
    return read_answers(PROBLEM, answers, config or RunConfig())


PROGRAM = "```python\ndef double(n, by=2):\n    return n * by\n```"


def test_equal_programs_are_one_and_an_answer_without_code_is_an_empty_one():
    programs = read(program=[PROGRAM, "I cannot.", f"Sure:\n{PROGRAM}"])["programs"]
    assert [(each["text"] == "", each["samples"]) for each in programs] == [
        (False, (0, 2)),
        (True, (1,)),
    ]


def test_a_request_that_failed_is_no_sample():
    assert read(program=[PROGRAM, None])["programs"][0]["samples"] == (0,)


def test_a_programs_log_probability_is_the_mean_a_token():
    answers = {role: [] for role in TRUST_ROLES}
    answers["program"] = [an_answer(PROGRAM, -2.0, 4), an_answer(PROGRAM, -3.0, 2)]
    assert read_answers(PROBLEM, answers, RunConfig())["programs"][0]["logprob"] == -1.0


def test_each_text_gives_at_most_so_many_specs():
    config = RunConfig(trust=TrustConfig(specs_a_text=2))
    text = "\n".join(f"assert double({n}) == {2 * n}" for n in range(4))
    assert len(read(config, **{"assert": [text, text]})["asserts"]) == 2


def test_asserts_call_the_function_and_relations_speak_of_its_value():
    found = read(
        **{"assert": ["assert double(1) == 2\nassert return_value == 2"]},
        relation=["assert return_value >= n\nassert double(1) == 2"],
    )
    assert [each["text"] for each in found["asserts"]] == ["assert double(1) == 2"]
    assert [each["text"] for each in found["relations"]] == ["assert return_value >= n"]


@pytest.mark.parametrize(
    ("inputs", "calls"),
    [
        ("asserts", ["assert double(1) == 2"]),
        ("model", ["double(7)"]),
        ("both", ["assert double(1) == 2", "double(7)"]),
    ],
)
def test_inputs_come_from_asserts_or_from_the_model(inputs, calls):
    config = RunConfig(trust=TrustConfig(inputs=inputs))
    wanted = [] if inputs == "asserts" else ["double(7)"]
    found = read(config, **{"assert": ["assert double(1) == 2"], "input": wanted})
    assert found["calls"] == calls


def test_an_answer_may_have_begun_in_its_prompt():
    prompt = PromptConfig(assert_begun="assert", input_begun="{name}(")
    config = RunConfig(prompt=prompt, trust=TrustConfig(inputs="model"))
    found = read(config, **{"assert": [" double(1) == 2"], "input": ["7)"]})
    assert (found["asserts"][0]["text"], found["calls"]) == ("assert double(1) == 2", ["double(7)"])


def test_samples_survive_the_way_through_arrow():
    config = RunConfig()
    made = read(config, program=[PROGRAM], relation=["assert return_value"])
    row = open_rows([PROBLEM]).to_pylist()[0] | {"samples": made}
    table = stored_rows([samples_of(row)])
    assert table.schema == TRUST_ROW
    assert samples_of(table.to_pylist()[0]) == samples_of(row)
