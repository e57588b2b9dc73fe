import json

import pytest

from conf import UserError
from pipeline.compose import load_config, to_plain
from pipeline.resuming import resumed_config, run_folder
from pipeline.status import FINISHED, STATUS, STOPPED

INPUTS = {"model": "m", "dataset": "d"}


@pytest.fixture
def config(tmp_path):
    """A configuration whose runs lie under tmp_path."""

    def make(*overrides):
        return load_config([f"runs_dir={tmp_path}", *overrides])

    return make


def begin(config, inputs=INPUTS, state=None):
    """Make a folder and leave it as a killed process does, or with the state of an ended run."""
    with run_folder(config, inputs) as (folder, _):
        if state:
            folder.write_json(STATUS, {"state": state, "reason": None})
    return folder.path


def next_folder(config, inputs=INPUTS):
    with run_folder(config, inputs) as (folder, goes_on):
        return folder.path, goes_on


@pytest.mark.parametrize("state", [None, STOPPED])
def test_an_unfinished_run_of_the_same_configuration_goes_on(config, state):
    path = begin(config(), state=state)
    assert next_folder(config()) == (path, True)


@pytest.mark.parametrize(
    "change", ["chain.length=5", "seed=1", "serve=fake", "sandbox.cpu_s=1", "name=other"]
)
def test_another_configuration_begins_a_new_run(config, change):
    begin(config())
    assert next_folder(config(change))[1] is False


@pytest.mark.parametrize(
    "change", ["budget.tokens=9", "stall_minutes=1", "cluster.num_cpus=3", "engine.replicas=2"]
)
def test_how_a_run_is_run_makes_it_no_other(config, change):
    begin(config())
    assert next_folder(config(change))[1] is True


def rewrite(path, change):
    """Let a run's beginning look as another version wrote it."""
    beginning = path / "config.json"
    content = json.loads(beginning.read_text())
    change(content["config"])
    beginning.write_text(json.dumps(content))


def test_a_key_that_came_later_has_its_default_in_an_older_run(config):
    path = begin(config())
    rewrite(path, lambda recorded: recorded["chain"].pop("audit"))
    assert next_folder(config("chain.audit=0.5"))[1] is False
    assert next_folder(config()) == (path, True)


def test_an_older_run_with_a_key_that_is_no_more_is_another_run(config):
    path = begin(config())
    rewrite(path, lambda recorded: recorded["chain"].update(gone=1))
    assert next_folder(config())[1] is False
    with pytest.raises(UserError, match=r"another version of Holdtrue.*gone"):
        resume(path)


def test_other_weights_or_problems_begin_a_new_run(config):
    begin(config())
    assert next_folder(config(), INPUTS | {"dataset": "e"})[1] is False


def test_a_finished_run_is_left_alone(config):
    begin(config(), state=FINISHED)
    assert next_folder(config())[1] is False


def test_a_new_run_can_be_asked_for(config):
    begin(config())
    assert next_folder(config("fresh=true"))[1] is False


def test_a_run_that_a_process_is_making_is_left_alone(config):
    with run_folder(config(), INPUTS) as (folder, _):
        assert next_folder(config())[0] != folder.path
        with pytest.raises(UserError, match="another process"):
            next_folder(config(f"resume={folder.path}"))


def resume(path, *overrides):
    words = [f"resume={path}", *overrides]
    return resumed_config(load_config(words), words)


def test_a_resumed_run_keeps_its_own_configuration(config):
    path = begin(config("chain.length=5", "seed=7"))
    went_on = to_plain(resume(path))
    assert (went_on["chain"]["length"], went_on["seed"]) == (5, 7)


@pytest.mark.parametrize("key", ["chain.length=4", "chain.length=3"])
def test_a_changed_key_is_named_also_when_it_says_the_default(config, key):
    path = begin(config("chain.length=5"))
    with pytest.raises(UserError, match=r"chain\.length"):
        resume(path, key)


def test_a_budget_is_that_of_the_command_line(config):
    path = begin(config("budget.tokens=9", "cluster.num_cpus=3"))
    assert resume(path).budget.tokens is None
    assert resume(path, "budget.tokens=20").budget.tokens == 20
    assert resume(path).cluster.num_cpus == 3


def test_a_resumed_run_needs_the_inputs_it_was_started_with(config):
    path = begin(config())
    with pytest.raises(UserError, match="the dataset has changed"):
        next_folder(resume(path), INPUTS | {"dataset": "e"})


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="no run there"):
        resume(tmp_path)


def test_a_run_can_go_on_from_its_first_moment(config):
    with run_folder(config(), INPUTS) as (folder, _):
        assert json.loads((folder.path / "config.json").read_text())["inputs"] == INPUTS
