"""A disk that fills up in the middle of a run: it stops with one line, and goes on later."""

import subprocess

import pytest
from drivers import assert_same_tables, start, wait_until
from strikes import Ledger, forbid_writing, processes, striking

from conf import UserError
from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]


def test_a_journal_that_cannot_grow_stops_the_run_which_then_goes_on(place, undisturbed):
    with (
        striking(place, 14, lambda: forbid_writing(processes("ray::Keeper"))) as ledger,
        pytest.raises(UserError, match=r"cannot write under .*journal"),
    ):
        run(place.words())
    assert run(place.words()) == 0
    ledger.check()
    assert_same_tables(place.run, undisturbed)


def test_a_shard_that_cannot_be_written_stops_the_run_which_then_goes_on(
    place, address, undisturbed
):
    ledger = Ledger(place)
    # A pipe is no file: what the driver says to the terminal still gets there.
    driver = start(place.words(), place.folder, address, subprocess.PIPE)
    wait_until(place.has_shards, driver, place.console)
    ledger.note()
    forbid_writing({driver.pid})
    printed, _ = driver.communicate()
    assert driver.returncode == 2, printed
    assert "cannot write under" in printed.splitlines()[-1]
    assert run(place.words()) == 0
    ledger.check()
    assert_same_tables(place.run, undisturbed)
