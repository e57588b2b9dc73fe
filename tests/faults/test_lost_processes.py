"""Processes that are killed in the middle of a run: the run itself must not notice."""

import pytest
from drivers import assert_same_tables
from strikes import kill, processes, striking

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]

VICTIMS = {
    "replica": "ray::ServeReplica",
    "stage actor": "(RoundActor",
    "sandbox actor": "ray::SandboxActor",
    "zygote": "sandbox.inside import zygote",
    "journal keeper": "ray::Keeper",
    "board": "ray::Board",
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_run_that_loses_a_process_makes_the_same_tables_and_pays_once(victim, place, undisturbed):
    word = VICTIMS[victim]
    struck: set[int] = set()

    def blow():
        struck.update(processes(word))
        kill(struck)

    with striking(place, answers=14, blow=blow) as ledger:
        assert run(place.words()) == 0
    assert not struck & processes(word)
    ledger.check()
    assert_same_tables(place.run, undisturbed)
