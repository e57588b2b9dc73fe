import json
from dataclasses import replace

import pytest

from conf import UserError
from pipeline.sweep.points import (
    Engine,
    Point,
    arrange,
    count_at_once,
    make_points,
    next_point,
    point_name,
    share_words,
)

PROBLEM = {
    "problem_id": "a",
    "prompt": 'def inc(n):\n    """Add one."""\n',
    "entry_point": "inc",
    "tests": [{"args": "1", "expected": "2"}],
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(PROBLEM) + "\n")
    return f"dataset.path={path}"


def engine(name, cpus=0.5, gpus=0.0, batch=32):
    return Engine(name, None, cpus, gpus, batch)


@pytest.fixture
def point(data):
    (made,) = make_points(["serve=fake", data])

    def make(name, *engines, chains=1):
        return replace(made, name=name, engines=engines, chains=chains)

    return make


def names(turns: list[list[Point]]) -> list[list[str]]:
    return [[point.name for point in turn] for turn in turns]


def test_points_that_share_an_engine_stand_together(data):
    words = ["serve=fake", data, "chain.length=1,2", "engine.max_num_seqs=8,16"]
    points = make_points(words)
    assert [point.chosen["engine.max_num_seqs"] for point in points] == ["8", "8", "16", "16"]
    assert len({point.engines[0].name for point in points}) == 2


def test_a_describer_is_an_engine_of_its_own(data):
    (point,) = make_points(["serve=fake", data, "chain.describer=smollm2_135m"])
    assert len(point.engines) == 2 or point.engines[0].name == point.engines[1].name


def test_a_mistake_in_any_point_is_found_before_any_runs(data):
    with pytest.raises(UserError, match=r"no/such"):
        make_points(["serve=fake", "dataset=file", "dataset.path=/no/such.jsonl,/no/such2.jsonl"])


def test_a_points_name_is_a_folders_name():
    assert point_name(3, ["org/Model-7B", "[cycle]"]) == "03-Model_7B-cycle"
    assert point_name(0, []) == "00"


def test_engines_that_fit_together_take_one_turn(point):
    a, b = engine("a", gpus=4), engine("b", gpus=4)
    points = [point("1", a), point("2", a), point("3", b)]
    assert names(arrange(points, cpus=8, gpus=8)) == [["1", "2", "3"]]
    assert names(arrange(points, cpus=8, gpus=4)) == [["1", "2"], ["3"]]


def test_an_engine_that_fits_nowhere_has_a_turn_of_its_own_and_can_say_so(point):
    points = [point("1", engine("a", gpus=16)), point("2", engine("b"))]
    assert names(arrange(points, cpus=8, gpus=1)) == [["1"], ["2"]]


def test_points_start_until_the_engines_batch_is_full(point):
    a = engine("a", batch=10)
    running = [point("1", a, chains=10)]
    assert next_point([point("2", a)], running, most=8).name == "2"
    running.append(point("2", a, chains=5))
    assert next_point([point("3", a)], running, most=8) is None
    assert next_point([point("3", a), point("4", engine("b"))], running, most=8).name == "4"


def test_a_point_alone_at_its_engine_may_be_of_any_size(point):
    assert next_point([point("1", engine("a", batch=1), chains=99)], [], most=1) is not None


def test_no_more_points_run_than_cpus_allow(point):
    points = [point(str(n), engine("a")) for n in range(6)]
    assert count_at_once(points, cpus=100) == 6
    assert count_at_once(points, cpus=0.7) == 2
    assert count_at_once(points, cpus=0.1) == 1


def test_the_share_of_a_point_holds_its_engines_its_stages_and_its_sandbox(point):
    made = point("1", engine("a", cpus=0.5))
    assert share_words(made, 0.5) == ["cluster.cpus=1.0000", "cluster.sandbox_cpus=0.40"]
    assert share_words(made, 4.5) == ["cluster.cpus=5.0000", "cluster.sandbox_cpus=1.00"]
