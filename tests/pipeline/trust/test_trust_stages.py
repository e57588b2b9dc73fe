import asyncio

import pytest
from trust_cases import PROBLEM

from conf import RunConfig, TrustConfig
from pipeline.compose import load_config
from pipeline.round import Round, check_stages
from pipeline.stages import StageContext
from pipeline.trust.rows import open_rows
from pipeline.trust.schemas import TRUST_ROW
from pipeline.trust.stages import trust_rounds
from sandbox import Sandbox
from serve.messages import Completion, Failure

RIGHT = "```python\ndef double(n, by=2):\n    return n * by\n```"
WRONG = "```python\ndef double(n, by=2):\n    return n + by\n```"
ANSWERS = {
    "generate": [RIGHT, WRONG, RIGHT],
    "assert": ["assert double(3) == 6", "assert double(3) == 5", "assert double(3) == 6"],
    "relation": ["assert return_value >= n", "assert return_value % n == 0", "no idea"],
}
CONFIG = load_config(["trust.k=3"])


class Scripted:
    """Answers sample n in a role with the n-th text."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    async def generate(self, request_id, prompt, sampling):
        parts = request_id.removeprefix(PROBLEM["problem_id"]).split("/")
        self.asked.append((parts[-1], prompt, sampling))
        answer = self.answers[parts[-1]][int(parts[1])]
        if isinstance(answer, Failure):
            return answer
        return Completion(answer, "rendered", 10, 5, "stop", -1.0)


class InSandbox:
    def __init__(self, sandbox):
        self.sandbox = sandbox

    async def run(self, job):
        return self.sandbox.run(job)


def walk(model, sandbox=None, config=CONFIG):
    rows = open_rows([PROBLEM]).to_pylist()

    async def all_rounds():
        walked = rows
        for stages in trust_rounds(config):
            context = StageContext(config, 0, model, sandbox)
            walked = await Round([make(context) for make in stages]).walk(walked)
        return walked

    return asyncio.run(all_rounds())[0]


@pytest.fixture(scope="module")
def row():
    with Sandbox() as sandbox:
        return walk(Scripted(ANSWERS), InSandbox(sandbox))


def test_each_stages_columns_are_there_when_it_reads_them():
    check_stages((stage for stages in trust_rounds(CONFIG) for stage in stages), TRUST_ROW)


def test_programs_and_specs_are_checked_all_against_all(row):
    source = {p["program_id"]: p["source"] for p in row["programs"] if p["weight"]}
    spec = {s["spec_id"]: s["source"] for s in row["specs"]}
    held = {
        ("n * by" in source[c["program_id"]], spec[c["spec_id"]])
        for c in row["checks"]
        if c["program_id"] in source and c["result"] == "holds"
    }
    assert held == {
        (True, "assert double(3) == 6"),
        (False, "assert double(3) == 5"),
        (True, "assert return_value >= n"),
        (False, "assert return_value >= n"),
        (True, "assert return_value % n == 0"),
    }


def test_what_was_run_is_counted(row):
    cost = row["cost"]
    assert (cost["programs"], cost["cells"], cost["relation_checks"]) == (3, 6, 6)
    assert cost["cpu_s"] > 0


def test_each_request_has_a_seed_of_its_own():
    model = Scripted({**ANSWERS, "generate": [Failure("engine_error", "gone")] * 3})
    walk(model)
    seeds = [sampling.seed for _, _, sampling in model.asked]
    assert len(seeds) == len(set(seeds)) == 3


def test_specs_are_asked_for_without_a_program():
    model = Scripted(ANSWERS)
    with Sandbox() as sandbox:
        walk(model, InSandbox(sandbox))
    prompts = [prompt.to_json() for role, prompt, _ in model.asked if role != "generate"]
    assert len(set(prompts)) == 2
    assert not any("return n" in text for text in prompts)


def test_a_problem_without_any_program_stops_with_the_engines_reason():
    row = walk(Scripted({**ANSWERS, "generate": [Failure("prompt_too_long", "9 of 8")] * 3}))
    assert (row["stop"]["reason"], row["stop"]["message"]) == ("prompt_too_long", "9 of 8")
    assert row["checks"] is None


def test_stored_samples_need_no_engine():
    (stages,) = trust_rounds(RunConfig(trust=TrustConfig(source="/somewhere")))
    assert [stage.uses for stage in stages] == ["sandbox"]
