import pyarrow as pa
from chains import BrokenSandbox, ScriptedModel, code, walk_chain

from conf import ChainConfig, RunConfig
from pipeline.compose import load_config
from pipeline.schemas import CHAIN_ROW
from pipeline.stopping import is_audited
from pipeline.tables import to_tables
from serve.messages import Failure


def chain(length=3, **more):
    return RunConfig(chain=ChainConfig(length=length, **more))


def matches(step):
    return [outcome["matches_previous"] for outcome in step["execution"]["outcomes"]]


def test_a_chain_that_never_repeats_makes_every_step():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"),
        summarize_1="Doubles.",
        generate_1=code("n + n"),
        summarize_2="Adds it to itself.",
        generate_2=code("2 * n"),
    )
    row = walk_chain(model, chain(length=2))
    assert (row["stop"]["reason"], row["stop"]["step"]) == ("length", 2)
    assert [step["index"] for step in row["steps"]] == [0, 1, 2]
    assert [step["execution"]["verdict"] for step in row["steps"]] == ["pass"] * 3


def test_from_step_one_on_the_name_is_masked():
    seen = []

    class Watching(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            seen.append(prompt.messages[-1].content)
            return await super().generate(request_id, prompt, sampling)

    model = Watching(
        generate_0=code("twice(n - 1) + 2 if n else 0", "twice"),
        summarize_1="Doubles.",
        generate_1=code("n + n"),
    )
    row = walk_chain(model, chain(length=1))
    assert "twice" in seen[0]
    assert [text for text in seen[1:] if "twice" in text] == []
    assert "func(n - 1)" in seen[1]
    assert row["steps"][1]["execution"]["verdict"] == "pass"


def test_the_original_text_is_never_shown_again():
    seen = []

    class Watching(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            seen.append(prompt.messages[-1].content)
            return await super().generate(request_id, prompt, sampling)

    documented = '```python\ndef twice(n):\n    """Double n."""\n    return n + n\n```'
    model = Watching(generate_0=documented, summarize_1="Adds.", generate_1=code("n + n"))
    walk_chain(model, chain(length=1))
    assert [text for text in seen[1:] if "Double n." in text] == []


def test_the_first_test_that_differs_is_recorded_and_the_chain_goes_on():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"),
        summarize_1="Squares plus one.",
        generate_1=code("n * n + 1"),
        summarize_2="Squares and adds one.",
        generate_2=code("1 + n * n"),
    )
    row = walk_chain(model, chain(length=2))
    assert matches(row["steps"][1]) == [True, False]
    assert matches(row["steps"][2]) == [True, True]
    assert row["stop"]["reason"] == "length"


def test_an_equal_program_is_a_fixed_point_and_costs_nothing_more():
    model = ScriptedModel(
        generate_0=code("n + n", "twice"), summarize_1="Doubles.", generate_1=code("n + n")
    )
    row = walk_chain(model)
    assert row["stop"]["reason"] == "fixed_point"
    assert (row["stop"]["step"], row["stop"]["cycle_start"], row["stop"]["cycle_length"]) == (
        1,
        1,
        1,
    )
    assert len(model.asked) == 3


def test_an_equal_description_is_a_fixed_point_before_its_program_is_written():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"),
        summarize_1="Doubles.",
        generate_1=code("n + n"),
        summarize_2="Doubles.",
    )
    row = walk_chain(model)
    stop = row["stop"]
    assert (stop["reason"], stop["step"], stop["cycle_start"]) == ("fixed_point", 2, 1)
    assert model.asked[-1] == (2, "summarize")
    assert row["steps"][-1]["generation"] is None


def test_a_program_from_further_back_closes_a_cycle_and_its_ends_are_compared():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"),
        summarize_1="Doubles.",
        generate_1=code("n + n"),
        summarize_2="Squares plus one.",
        generate_2=code("n * n + 1"),
        summarize_3="Adds it to itself.",
        generate_3=code("n + n"),
    )
    stop = walk_chain(model, chain(length=5))["stop"]
    assert (stop["reason"], stop["step"]) == ("cycle", 3)
    assert (stop["cycle_start"], stop["cycle_length"]) == (2, 2)
    assert (stop["closing_comparable"], stop["closing_matching"]) == (2, 1)


def test_a_recursive_program_that_comes_back_masked_closes_only_when_masked_texts_agree():
    recursive = "twice(n - 1) + 2 if n else 0"
    model = ScriptedModel(
        generate_0=code(recursive, "twice"),
        summarize_1="Doubles.",
        generate_1=code(recursive),
        summarize_2="Calls something else.",
        generate_2=code("0"),
    )
    problem_free = walk_chain(
        ScriptedModel(
            generate_0=code(recursive, "twice"),
            summarize_1="Doubles.",
            generate_1=code(recursive.replace("twice", "func")),
        )
    )
    assert problem_free["stop"]["reason"] == "fixed_point"

    class Unmasked(ScriptedModel):
        pass

    class Lenient:
        async def run(self, job):
            from sandbox.types import Kind, Load, Outcome, ProgramResult

            failed = tuple(
                Outcome(call.test_id, Kind.ERROR, '["NameError","NameError",""]', "NameError")
                for call in job.calls
            )
            return ProgramResult(job.job_id, Load.OK, failed, isolation="none")

    row = walk_chain(model, chain(length=2), sandbox=Lenient())
    assert row["stop"]["reason"] == "length"


def test_decided_spends_nothing_after_the_first_mismatch():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"), summarize_1="Adds one.", generate_1=code("n + 1")
    )
    row = walk_chain(model, chain(stop=["fixed_point", "cycle", "decided"]))
    assert (row["stop"]["reason"], row["stop"]["step"]) == ("decided", 1)
    assert len(model.asked) == 3


def test_an_answer_without_code_ends_the_chain_as_unparsable():
    row = walk_chain(ScriptedModel(generate_0="I cannot."))
    assert (row["stop"]["reason"], row["stop"]["step"]) == ("unparsable", 0)
    assert row["steps"][0]["execution"] is None


def test_half_a_program_at_the_token_limit_is_truncated():
    model = ScriptedModel(generate_0=("Sure! Let me think about", "length"))
    assert walk_chain(model)["stop"]["reason"] == "truncated"


def test_an_empty_description_ends_the_chain():
    model = ScriptedModel(generate_0=code("n * 2", "twice"), summarize_1="   ")
    row = walk_chain(model)
    assert (row["stop"]["reason"], row["stop"]["step"]) == ("unparsable", 1)


def test_a_prompt_that_is_too_long_is_named_as_such():
    model = ScriptedModel(generate_0=Failure("prompt_too_long", "5000 tokens"))
    row = walk_chain(model)
    assert (row["stop"]["reason"], row["stop"]["message"]) == ("prompt_too_long", "5000 tokens")


def test_an_engine_that_gives_up_ends_one_chain_with_its_words():
    model = ScriptedModel(
        generate_0=code("n * 2", "twice"), summarize_1=Failure("engine_error", "died", attempts=4)
    )
    row = walk_chain(model)
    assert (row["stop"]["reason"], row["stop"]["step"]) == ("engine_error", 1)
    assert row["steps"][1]["summary"]["answer"]["attempts"] == 4


def test_the_judges_own_fault_is_never_a_verdict_on_the_model():
    row = walk_chain(ScriptedModel(generate_0=code("n * 2", "twice")), sandbox=BrokenSandbox())
    assert row["stop"]["reason"] == "harness"


def test_a_finished_chain_fits_the_declared_schemas():
    model = ScriptedModel(
        generate_0=code("n + n", "twice"), summarize_1="Doubles.", generate_1=code("n + n")
    )
    row = walk_chain(model)
    pa.Table.from_pylist([row], schema=CHAIN_ROW).validate(full=True)
    tables = to_tables([row], config=RunConfig(), model="m")
    assert {name: table.num_rows for name, table in tables.items()} == {
        "chains": 1,
        "steps": 2,
        "outcomes": 4,
        "completions": 3,
        "resamples": 0,
    }
    assert tables["chains"]["steps"].to_pylist() == [2]
    assert tables["steps"]["matching"].to_pylist() == [0, 2]


def test_a_temperature_keeps_equal_states_apart():
    from conf import SamplingConfig

    config = chain(length=1, samples=2, sampling=SamplingConfig(temperature=0.7))
    model = ScriptedModel(
        generate_0=code("n + n", "twice"), summarize_1="Doubles.", generate_1=code("n + n")
    )
    seeds = set()

    class Seeded(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            seeds.add(sampling.seed)
            return await model.generate(request_id, prompt, sampling)

    import asyncio

    from chains import PROBLEM_ROW, InProcess

    from pipeline.round import Round
    from pipeline.schemas import PROBLEM
    from pipeline.stages import StageContext, round_stages
    from pipeline.tables import open_chains

    rows = open_chains(
        pa.Table.from_pylist([PROBLEM_ROW], schema=PROBLEM), config, finished=set()
    ).rows()
    for step in (0, 1):
        context = StageContext(config, step, Seeded(), InProcess())
        rows = asyncio.run(
            Round([make(context) for make in round_stages(step, config.chain)]).walk(rows)
        )
    assert [row["stop"]["reason"] for row in rows] == ["length", "length"]
    assert len(seeds) == 6


def test_a_chain_that_starts_from_code_describes_the_data_sets_solution_first():
    seen = []

    class Watching(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            seen.append(prompt.messages[-1].content)
            return await super().generate(request_id, prompt, sampling)

    model = Watching(summarize_1="Doubles.", generate_1=code("n + n"))
    row = walk_chain(model, chain(length=1, start="code"))
    assert model.asked == [(1, "summarize"), (1, "generate")]
    assert "return 2 * n" in seen[0]
    assert row["steps"][0]["execution"]["verdict"] == "pass"
    assert matches(row["steps"][1]) == [True, True]
    tables = to_tables([row], config=RunConfig(), model="m")
    assert tables["completions"]["step"].to_pylist() == [1, 1]
    first = tables["steps"].slice(0, 1).to_pylist()[0]
    assert (first["extraction"], first["generation_request"]) == ("given", None)


def test_a_solution_that_comes_back_is_a_fixed_point_of_a_chain_that_starts_from_code():
    model = ScriptedModel(summarize_1="Doubles.", generate_1=code("2 * n"))
    row = walk_chain(model, chain(length=3, start="code"))
    assert (row["stop"]["reason"], row["stop"]["cycle_start"]) == ("fixed_point", 1)


def test_another_model_describes_and_its_answers_are_told_apart():
    writer = ScriptedModel(generate_0=code("n * 2", "twice"), generate_1=code("n + n"))
    describer = ScriptedModel(summarize_1="Doubles.")
    config = load_config(["chain.length=1", "chain.describer=starcoderbase"])
    row = walk_chain(writer, config, describer=describer)
    assert (writer.asked, describer.asked) == (
        [(0, "generate"), (1, "generate")],
        [(1, "summarize")],
    )
    rows = to_tables([row], config=config, model="w", describer="d")["completions"].to_pylist()
    assert {r["role"]: r["model"] for r in rows} == {"generate": "w", "summarize": "d"}
    assert "<|endoftext|>" in next(r["sampling"] for r in rows if r["role"] == "summarize")


def test_an_audited_chain_runs_on_when_it_repeats_itself():
    answers = {"generate_0": code("n + n", "twice")}
    for step in (1, 2, 3):
        answers |= {f"summarize_{step}": "Doubles.", f"generate_{step}": code("n + n")}
    model = ScriptedModel(**answers)
    row = walk_chain(model, chain(audit=1.0))
    assert (row["stop"]["reason"], len(model.asked)) == ("length", 7)


def test_the_share_of_audited_chains_is_as_asked_and_the_same_each_time():
    config = RunConfig(chain=ChainConfig(audit=0.25))
    lots = [is_audited(config, f"p/{number}") for number in range(2000)]
    assert lots == [is_audited(config, f"p/{number}") for number in range(2000)]
    assert 400 < sum(lots) < 600
    assert not is_audited(RunConfig(), "p/0")
