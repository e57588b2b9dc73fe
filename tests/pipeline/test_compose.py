from pathlib import Path

import pytest

from conf import UserError
from pipeline.compose import CONFIG_DIR, MANIFESTS, differing_keys, expand, load_config, to_plain

ALSO_NEEDED = {"prompt=fim": ["model=starcoderbase"]}


def test_the_defaults_compose():
    config = load_config([])
    assert (config.model.label, config.dataset.name) == ("smollm2_135m", "humaneval")


def test_an_override_reaches_its_field_with_its_type():
    assert load_config(["chain.length=5"]).chain.length == 5


@pytest.mark.parametrize(
    "option",
    [
        f"{path.parent.name}={path.stem}"
        for path in sorted(Path(CONFIG_DIR).glob("*/*.yaml"))
        if path.stem not in ("hf", "hf_base", "file", *MANIFESTS)
    ],
)
def test_every_group_option_composes(option):
    load_config([option, *ALSO_NEEDED.get(option, ())])


def test_an_engine_argument_needs_no_plus_sign():
    assert load_config(["engine.args.swap_space=2"]).engine.args == {"swap_space": 2}


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("chain.lenght=3", ["chain.lenght", "chain.length"]),
        ("cluster=kuberay", ["./launch.sh kuberay"]),
        ("model=nothing", ["model=nothing", "smollm2_135m"]),
        ("chain.length=abc", ["chain.length=abc", "Integer"]),
        ("chain.stop=[never]", ["chain.stop", "never", "fixed_point"]),
        ("+chain.extra=1", ["chain.extra"]),
        ("nonsense", ["nonsense"]),
        ("chain=3", ["chain=3"]),
        ("chain.length=0", ["chain.length", "at least 1", "0"]),
        ("model=hf", ["model.path"]),
    ],
)
def test_a_mistake_is_named_in_one_line(override, words):
    with pytest.raises(UserError) as caught:
        load_config([override])
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


def test_differing_keys_are_dotted_and_sorted():
    old = to_plain(load_config([]))
    new = to_plain(load_config(["chain.length=4", "seed=3"]))
    assert differing_keys(old, new) == ["chain.length", "seed"]


def test_a_sweep_is_every_combination_and_its_fixed_words():
    choices = expand(["serve=fake", "model=a,b", "chain.length=range(3,5)"])
    assert [choice.chosen for choice in choices] == [
        {"model": model, "chain.length": length} for model in "ab" for length in "34"
    ]
    assert choices[0].words == ("serve=fake", "model=a", "chain.length=3")


def test_a_list_in_brackets_or_quotes_is_one_value():
    (choice,) = expand(["chain.stop=[fixed_point,cycle]", "model.path='a,b'"])
    assert choice.chosen == {}


def test_what_is_no_override_is_no_sweep():
    with pytest.raises(UserError, match="nonsense"):
        expand(["nonsense"])
