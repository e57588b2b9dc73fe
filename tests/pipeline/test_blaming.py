import polars as pl
import pyarrow as pa
import pytest
from chains import BrokenSandbox, InProcess, ScriptedModel, code, walk_chain

from analysis import RunTables
from analysis.broken import broken_chains
from conf import ChainConfig, RunConfig, SamplingConfig, UserError
from pipeline.blaming import Break, first_break
from pipeline.schemas import CHAIN_ROW
from pipeline.tables import to_tables
from serve.messages import Failure

TWICE = code("n * 2", "twice")


def config_of(length=1, blame=3, **more):
    return RunConfig(chain=ChainConfig(length=length, blame=blame, **more))


def broken_model(*again, **more):
    """One that describes its program badly; then what it writes when asked again."""
    answers = {"generate_0": TWICE, "summarize_1": "Squares.", "generate_1": code("n * n")}
    asked = {f"blame-{index}_1": answer for index, answer in enumerate(again)}
    return ScriptedModel(**(answers | asked | more))


def findings(*again, sandbox=None, **more):
    row = walk_chain(broken_model(*again, **more), config_of(blame=len(again)), sandbox=sandbox)
    return [made["finding"] for made in row["resamples"]]


def test_each_program_is_compared_with_the_one_that_was_described():
    assert findings(code("n + n"), code("n * n"), code("n ** 2")) == [
        *("agrees", "differs", "differs")
    ]


def test_an_answer_without_a_program_and_half_a_program_are_no_program():
    half = ("```python\ndef func(n):\n    return (n +", "length")
    assert findings("I cannot.", half) == ["no_program", "no_program"]


def test_what_is_not_the_models_doing_is_told_apart():
    assert findings(Failure("engine_error", "died")) == ["failed"]


def test_a_judge_that_fails_only_now_blames_nobody():
    class FailsLater(InProcess):
        runs = 0

        async def run(self, job):
            self.runs += 1
            return await (BrokenSandbox() if self.runs > 2 else super()).run(job)

    assert findings(code("n + n"), sandbox=FailsLater()) == ["failed"]


def test_a_chain_that_keeps_its_behaviour_is_asked_nothing_more():
    model = broken_model(generate_1=code("n + n"))
    assert walk_chain(model, config_of())["resamples"] == []
    assert len(model.asked) == 3


def test_a_run_that_does_not_ask_makes_no_request_more():
    model = broken_model()
    assert walk_chain(model, config_of(blame=0))["resamples"] == []
    assert len(model.asked) == 3


def test_without_a_description_there_is_nothing_to_write_from():
    row = walk_chain(broken_model(summarize_1=" "), config_of())
    assert (row["stop"]["reason"], row["resamples"]) == ("unparsable", [])


def test_a_chain_whose_model_wrote_no_program_is_asked_again_from_its_description():
    row = walk_chain(broken_model(code("n + n"), generate_1="No."), config_of(blame=1))
    assert [made["finding"] for made in row["resamples"]] == ["agrees"]


def test_the_description_is_shown_as_in_the_chain_and_sampled_at_a_temperature_by_seed():
    sent = {}

    class Watching(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            sent[request_id.rsplit("/", 1)[1]] = (prompt, sampling)
            return await super().generate(request_id, prompt, sampling)

    walk_chain(Watching(**broken_model(TWICE, TWICE).answers), config_of(blame=2))
    (first, greedy), (again, one), (_, two) = (
        sent[name] for name in ("generate", "blame-0", "blame-1")
    )
    assert again.key() == first.key()
    assert (greedy.temperature, one.temperature, one.max_tokens) == (0, 0.8, greedy.max_tokens)
    assert one.seed != two.seed


def test_a_chain_with_a_temperature_of_its_own_keeps_it():
    seen = []

    class Watching(ScriptedModel):
        async def generate(self, request_id, prompt, sampling):
            seen.append(sampling.temperature)
            return await super().generate(request_id, prompt, sampling)

    config = config_of(blame=1, sampling=SamplingConfig(temperature=0.3))
    walk_chain(Watching(**broken_model(TWICE).answers), config)
    assert set(seen) == {0.3}


@pytest.mark.parametrize("wrong", [{"blame": -1}, {"blame_temperature": 0.0}])
def test_settings_that_could_tell_nothing_are_refused(wrong):
    with pytest.raises(UserError, match=r"chain\.blame"):
        ChainConfig(**wrong)


def test_the_programs_are_a_table_of_the_run():
    config = config_of(blame=2)
    row = walk_chain(broken_model(code("n + n"), "No."), config)
    pa.Table.from_pylist([row], schema=CHAIN_ROW).validate(full=True)
    made = to_tables([row], config=config, model="m")["resamples"].to_pylist()
    assert [(r["index"], r["step"], r["from_step"], r["finding"]) for r in made] == [
        (0, 1, 0, "agrees"),
        (1, 1, 0, "no_program"),
    ]
    assert [(r["comparable"], r["matching"], r["verdict"]) for r in made] == [
        (2, 2, "pass"),
        (0, 0, None),
    ]
    assert made[0]["request_id"].endswith("/1/blame-0")
    assert '"temperature":0.8' in made[0]["sampling"]


CYCLE = {
    "summarize_1": "Doubles.",
    "generate_1": code("n + n"),
    "summarize_2": "Squares plus one.",
    "generate_2": code("n * n + 1"),
    "summarize_3": "Adds it to itself.",
    "generate_3": code("n + n"),
}
CASES = {
    "kept": (2, {"generate_1": code("n+n"), "summarize_2": "Two.", "generate_2": code("2 * n")}),
    "later": (2, {"generate_1": code("n+n"), "summarize_2": "One.", "generate_2": code("n")}),
    "first": (1, {}),
    "no text": (1, {"summarize_1": " "}),
    "no code": (1, {"generate_1": "No."}),
    "nothing": (1, {"generate_0": "No."}),
    "half": (1, {"generate_1": ("```python\ndef func(n):\n    return (n +", "length")}),
    "lost": (1, {"generate_1": Failure("engine_error", "died")}),
    "not recorded": (1, {"generate_1": Failure("not_recorded", "no such request")}),
    "lost after": (2, {"summarize_2": Failure("engine_error", "died")}),
    "cycle": (5, CYCLE),
}


@pytest.mark.parametrize(("length", "found"), [(2, None), (3, Break(2, 1))])
def test_a_cycle_may_break_only_where_it_closes_if_that_is_within_the_run(length, found):
    kept = walk_chain(broken_model(**CASES["kept"][1]), config_of(length=2, blame=0))
    stop = {**kept["stop"], "reason": "cycle", "cycle_start": 1, "cycle_length": 2}
    closing = {**stop, "closing_comparable": 2, "closing_matching": 1}
    assert first_break(kept["steps"], closing, length) == found


@pytest.mark.parametrize("case", CASES)
def test_a_row_and_the_tables_agree_on_where_a_chain_broke(case):
    length, answers = CASES[case]
    config = config_of(length=length, blame=0)
    row = walk_chain(broken_model(**answers), config)
    found = first_break(row["steps"], row["stop"], length)
    tables = to_tables([row], config=config, model="m")
    frames = {name: pl.DataFrame(table).lazy() for name, table in tables.items()}
    listed = broken_chains(RunTables(**frames), length).filter(pl.col("from_step").is_not_null())
    steps = [Break(*pair) for pair in listed.select("from_step", "to_step").iter_rows()]
    assert steps == ([found] if found else [])
