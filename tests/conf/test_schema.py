import dataclasses

import pytest

from conf import (
    ChainConfig,
    ModelConfig,
    RunConfig,
    SamplingConfig,
    SandboxConfig,
    UserError,
    machine_schema,
    schema,
    trust_schema,
)


def test_a_value_out_of_bounds_names_its_key_and_itself():
    with pytest.raises(UserError, match=r"chain\.length must be at least 1, got 0"):
        ChainConfig(length=0)


def test_a_choice_that_does_not_exist_lists_the_ones_that_do():
    with pytest.raises(UserError, match="strict, standard, standard-nofs, minimal"):
        SandboxConfig(isolation="loose")


def test_greedy_chains_cannot_be_sampled_twice():
    with pytest.raises(UserError, match="temperature"):
        ChainConfig(samples=2)


def test_samples_are_fine_at_a_temperature():
    assert ChainConfig(samples=2, sampling=SamplingConfig(temperature=0.5)).samples == 2


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("embedded:smollm2_135m", "smollm2_135m"),
        ("/models/Some-7B/", "Some-7B"),
        ("org/Some-7B", "Some-7B"),
    ],
)
def test_a_model_without_a_name_is_called_after_its_path(path, label):
    assert ModelConfig(path=path).label == label


def _dataclasses_below(kind):
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.type):
            yield field.type
            yield from _dataclasses_below(field.type)


@pytest.mark.parametrize("module", [schema, machine_schema, trust_schema])
def test_every_field_is_documented_below_its_declaration(module):
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(module))
    bare = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(field, ast.AnnAssign):
                    documented = isinstance(after, ast.Expr) and isinstance(
                        after.value, ast.Constant
                    )
                    group = "Config" in ast.unparse(field.annotation)
                    if not documented and not group:
                        bare.append(f"{node.name}.{ast.unparse(field.target)}")
    assert bare == []


def test_all_groups_of_a_run_are_dataclasses():
    assert {kind.__name__ for kind in _dataclasses_below(RunConfig)} >= {
        "ModelConfig",
        "SamplingConfig",
    }
