import pyarrow as pa
import pytest

from conf import ExampleConfig, RunConfig, UserError
from pipeline.compose import load_config
from pipeline.datasets import load_problems
from pipeline.worked import unused_problems, with_example


def test_an_example_of_the_data_set_takes_its_problems_texts():
    example = with_example(load_config(["example=first_humaneval"])).example
    assert example.name == "has_close_elements"
    assert example.header.startswith("from typing import List")
    assert '"""' not in example.program
    assert "return True" in example.program
    assert example.description.startswith("Check if in given list")
    assert ">>>" not in example.description
    assert example.calls.startswith(">>> has_close_elements(")


def test_the_problem_that_is_shown_is_not_evaluated():
    config = load_config(["example=first_humaneval", "dataset.limit=3"])
    assert list(unused_problems(config, load_problems(config.dataset))) == ["HumanEval/0"]


def test_an_example_of_another_data_set_leaves_nothing_out():
    config = load_config(["dataset.ids=[HumanEval/7]"])
    config.example = ExampleConfig("HumanEval/0", *["x"] * 4)
    assert unused_problems(config, load_problems(config.dataset)) == {}


def test_no_example_is_none():
    config = RunConfig()
    assert with_example(config) is config


def test_an_unknown_example_is_a_users_mistake():
    with pytest.raises(UserError, match=r"example\.problem_id=nope"):
        with_example(load_config(["example.problem_id=nope"]))


def test_half_an_example_is_a_users_mistake():
    with pytest.raises(UserError, match="all of name, header"):
        load_config(["example.name=f"])


def test_a_problem_without_a_solution_cannot_start_a_chain():
    config = load_config(["chain.start=code", "dataset.limit=2"])
    problems = load_problems(config.dataset)
    none = pa.array([None, "def f(): ..."], problems.schema.field("canonical_solution").type)
    index = problems.schema.get_field_index("canonical_solution")
    unsolved = problems.set_column(index, problems.schema.field(index), none)
    assert list(unused_problems(config, unsolved)) == ["HumanEval/0"]
