"""A disk that fills up in the middle of a run: it stops with one line, and goes on later."""

from contextlib import suppress

import pytest
from drivers import assert_same_tables
from strikes import forbid_writing, processes, striking

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


def test_a_shard_that_cannot_be_written_stops_the_run_which_then_goes_on(place, undisturbed):
    with (
        striking(place, 14, lambda: fill_disk_under(place.run / "steps")) as ledger,
        pytest.raises(UserError, match=r"cannot write under .*No space left on device"),
    ):
        run(place.words())
    assert run(place.words()) == 0
    ledger.check()
    assert_same_tables(place.run, undisturbed)


def fill_disk_under(table):
    """Let the kernel say that there is no space for any further shard; needs no privilege."""
    for number in range(100):
        with suppress(FileExistsError):
            (table / f".shard-{number:06d}.parquet.part").symlink_to("/dev/full")
