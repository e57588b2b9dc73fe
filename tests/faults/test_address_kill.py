"""A run in an object store loses its driver and all that this machine had of it, and goes on."""

import json
import tempfile

import pytest
from drivers import assert_same_tables, kill, start_driver, wait_until
from object_store import BUCKET
from strikes import Place

from pipeline.address import Address
from pipeline.fetching import fetch_journal, fetch_run
from pipeline.journal import read_journal

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]
STRIKE = 12
"""Answers at the address at which the driver is killed."""


class Scene:
    def __init__(self, folder, query):
        self.place = Place(folder)
        self.runs = Address(f"s3://{BUCKET}/{folder.name}{query}")

    @property
    def run(self):
        (name,) = self.runs.folders()
        return self.runs / name

    def recorded(self):
        """Names of the requests whose answers lie at the address."""
        if not self.runs.folders():
            return []
        fetch_journal.cache_clear()
        return read_journal(fetch_journal(str(self.run)))["request_id"].to_pylist()


@pytest.fixture(scope="module")
def scene(ray_session, store, tmp_path_factory):
    import ray

    scene = Scene(tmp_path_factory.mktemp("address"), store)
    words, console = scene.place.words(f"runs_dir={scene.runs}"), scene.place.console
    address = ray.get_runtime_context().gcs_address
    with pytest.MonkeyPatch.context() as patch:
        for scratch in ("first", "second"):
            # Each start has a machine of its own: nothing of the first one is found there.
            patch.setenv("TMPDIR", str(tmp_path_factory.mktemp(scratch)))
            tempfile.tempdir = None
            driver = start_driver(words, console, address)
            if scratch == "first":
                wait_until(lambda: len(scene.recorded()) >= STRIKE, driver, console)
                kill(driver)
                scene.kept = set(scene.recorded())
                scene.asked = len(scene.place.answered())
    tempfile.tempdir = None
    assert driver.wait() == 0, console.read_text()[-3000:]
    scene.end = fetch_run(str(scene.run))
    return scene


def test_the_same_command_goes_on_at_the_address(scene):
    assert "going on with s3://" in scene.place.console.read_text()
    assert json.loads((scene.end / "status.json").read_text())["state"] == "finished"


def test_every_table_equals_that_of_an_undisturbed_run(scene, undisturbed):
    assert_same_tables(scene.end, undisturbed)


def test_nothing_that_lay_at_the_address_is_paid_again(scene):
    assert scene.kept
    assert scene.kept.isdisjoint(scene.place.answered()[scene.asked :])


def test_the_journal_there_has_each_answer_once(scene):
    names = scene.recorded()
    assert len(names) == len(set(names))
    assert set(names) <= set(scene.place.answered())


def test_commands_on_stored_runs_take_the_address(scene, capsys):
    from pipeline.cli import main

    assert main(["compare", str(scene.run), str(scene.run)]) == 0
    assert main(["rescore", str(scene.run)]) == 0
