"""What a machine that died may leave of files that were being written."""

import shutil

import pytest
from drivers import assert_same_tables, kill, start_driver, wait_until
from strikes import Ledger, processes, wait_for

from pipeline.run import run

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]


def test_half_written_files_are_left_aside_and_only_what_they_held_is_paid_again(
    place, address, undisturbed
):
    ledger = Ledger(place)
    driver = start_driver(place.words(), place.console, address)
    wait_until(place.has_shards, driver, place.console)
    kill(driver)
    wait_for(lambda: not processes("ray::Keeper"), "the end of the journal's keeper")
    before = set(place.recorded())
    tear_last_segment(place.run)
    leave_a_half_published_shard(place.run)
    ledger.note()
    assert set(place.recorded()) < before
    assert run(place.words()) == 0
    ledger.check()
    assert_same_tables(place.run, undisturbed)


def tear_last_segment(folder):
    last = max((folder / "journal").iterdir(), key=lambda path: path.stat().st_mtime)
    with last.open("r+b") as file:
        file.truncate(last.stat().st_size - 7)


def leave_a_half_published_shard(folder):
    shard = next((folder / "steps").glob("*.parquet"))
    shutil.copy(shard, shard.with_name("shard-000777.parquet"))
    (folder / "outcomes" / ".shard-000777.parquet.part").write_bytes(shard.read_bytes()[:100])
