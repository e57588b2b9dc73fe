"""The driver is killed with SIGKILL, at progress that is seen on disk, and started again."""

import json

import pytest
from drivers import (
    answered,
    assert_same_tables,
    journal_rows,
    kill,
    lines,
    paid_keys,
    start_driver,
    wait_until,
)

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
STRIKES = (3, 10)
"""Answers in the journal at which the driver is killed."""


def problem(name):
    return {
        "problem_id": f"toy/{name}",
        "prompt": f'def {name}(n: int) -> int:\n    """Return n, as {name} has it."""\n',
        "entry_point": name,
        "tests": [{"args": str(n), "expected": str(n)} for n in (1, 2)],
        "canonical_solution": "    return n\n",
    }


@pytest.fixture(scope="module")
def scene(ray_session, tmp_path_factory):
    """A run that was killed twice and then finished, and the same run undisturbed."""
    return play(tmp_path_factory.mktemp("kill"))


class Scene:
    def __init__(self, folder):
        self.folder = folder
        self.kept = []
        """For each kill: what the journal had, and how long the engine's log was."""

    @property
    def runs(self):
        return sorted((self.folder / "runs").iterdir())

    @property
    def run(self):
        return self.runs[0]

    @property
    def undisturbed(self):
        (run,) = (self.folder / "undisturbed").iterdir()
        return run

    @property
    def engine_log(self):
        return self.folder / "asked"


def play(folder):
    import ray
    from ray import serve as ray_serve

    scene, console = Scene(folder), folder / "console"
    data = folder / "data.jsonl"
    data.write_text("".join(json.dumps(problem(name)) + "\n" for name in NAMES))
    words = ["serve=fake", f"dataset.path={data}", "chain.length=2", "sandbox.actors=1"]
    slow = ["serve.fake_tokens_per_s=8", "serve.fake_batch_limit=2"]
    own = [*slow, f"serve.fake_log={scene.engine_log}", f"runs_dir={folder / 'runs'}"]
    address = ray.get_runtime_context().gcs_address
    for strike in STRIKES:
        driver = start_driver([*words, *own], console, address)
        wait_until(lambda s=strike: journal_rows(folder / "runs") >= s, driver, console)
        kill(driver)
        # In this order: what is answered after this line was not in the journal before it.
        scene.kept.append((paid_keys(scene.run), lines(scene.engine_log)))
    driver = start_driver([*words, *own], console, address)
    assert driver.wait() == 0, console.read_text()[-3000:]
    for app in ray_serve.status().applications:
        ray_serve.delete(app)
    assert run([*words, f"runs_dir={folder / 'undisturbed'}"]) == 0
    return scene


def test_the_same_command_goes_on_in_the_same_folder(scene):
    assert scene.runs == [scene.run]
    assert json.loads((scene.run / "status.json").read_text())["state"] == "finished"


def test_each_kill_struck_a_run_that_was_under_way(scene):
    answers = len(paid_keys(scene.undisturbed))
    assert [len(kept) for kept, _ in scene.kept] == sorted(len(kept) for kept, _ in scene.kept)
    assert all(0 < len(kept) < answers for kept, _ in scene.kept)


def test_every_table_equals_that_of_an_undisturbed_run(scene):
    assert_same_tables(scene.run, scene.undisturbed)


def test_nothing_that_was_in_the_journal_is_paid_again(scene):
    for kept, line in scene.kept:
        assert kept & set(answered(scene.engine_log, line)) == set()


def test_the_journal_has_each_answer_once(scene):
    assert journal_rows(scene.folder / "runs") == len(paid_keys(scene.run))
