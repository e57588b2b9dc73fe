import pytest

from conf import UserError
from pipeline.words import read_words

KEYS = {"scoring": "strict", "judge": "false"}


def read(*words, more=False):
    return read_words("rescore", words, places=["FILE"], keys=KEYS, more=more)


def test_places_and_keys_come_in_any_order():
    given = read("judge=true", "a.jsonl")
    assert given.places == ("a.jsonl",)
    assert given.flag("judge")


def test_a_key_that_is_not_given_has_its_default():
    assert read("a.jsonl").keys == KEYS


def test_a_path_with_an_equals_sign_is_a_place():
    assert read("./runs/a=b").places == ("./runs/a=b",)


def test_the_last_place_may_be_repeated_where_more_are_allowed():
    assert read("a", "b", "c", more=True).places == ("a", "b", "c")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "needs FILE, got nothing"),
        (["a", "b"], "got a b"),
        (["a", "juge=true"], "juge= is unknown"),
        (["a", "judge=true", "judge=true"], "judge= is given twice"),
    ],
)
def test_a_mistake_names_the_word_and_shows_the_usage(words, said):
    with pytest.raises(UserError, match=said) as raised:
        read(*words)
    assert "usage: ./launch.sh rescore FILE [scoring=strict]" in str(raised.value)


def test_a_flag_is_true_or_false():
    with pytest.raises(UserError, match="judge=1: must be true or false"):
        read("a", "judge=1").flag("judge")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "two", ""])
def test_a_count_is_a_whole_number_from_one_on(value):
    given = read_words("correlate", [f"step={value}"], places=[], keys={"step": "1"})
    with pytest.raises(UserError, match="step="):
        given.count("step")
