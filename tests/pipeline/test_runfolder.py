import errno
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conf import UserError
from pipeline import runfolder
from pipeline.runfolder import RunFolder
from pipeline.schemas import RUN_TABLES


def _tables(*chain_ids):
    tables = {name: schema.empty_table() for name, schema in RUN_TABLES.items()}
    rows = [
        {
            "chain_id": chain_id,
            "problem_id": chain_id,
            "dataset": "d",
            "sample": 0,
            "length": 1,
            "steps": 1,
            "stop_reason": "length",
            "stop_step": 1,
        }
        for chain_id in chain_ids
    ]
    return tables | {"chains": pa.Table.from_pylist(rows, schema=RUN_TABLES["chains"])}


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path / "runs", "test")
    made.write_json("config.json", {})
    return made


def test_two_runs_in_one_second_get_two_folders(tmp_path):
    first, second = (RunFolder.create(tmp_path, "same") for _ in range(2))
    assert first.path != second.path


def test_a_shard_is_one_file_in_every_table(folder):
    folder.write_shard(_tables("a"))
    assert {p.parent.name for p in folder.path.glob("*/shard-000000.parquet")} == set(RUN_TABLES)


def test_shards_keep_their_declared_schema(folder):
    folder.write_shard(_tables("a"))
    for name, schema in RUN_TABLES.items():
        assert pq.read_schema(folder.path / name / "shard-000000.parquet").equals(schema)


def test_finished_chains_are_those_of_all_shards(folder):
    folder.write_shard(_tables("a", "b"))
    folder.write_shard(_tables("c"))
    assert RunFolder.reopen(folder.path).finished_chains() == {"a", "b", "c"}


def test_a_shard_without_its_chains_file_is_set_aside_not_deleted(folder):
    folder.write_shard(_tables("a"))
    (folder.path / "chains" / "shard-000000.parquet").unlink()
    again = RunFolder.reopen(folder.path)
    assert list(again.path.glob("steps/*.parquet")) == []
    assert (again.path / "orphans" / "steps-shard-000000.parquet").is_file()


def test_a_leftover_temporary_file_is_set_aside(folder):
    (folder.path / "steps" / ".shard-000003.parquet.part").write_bytes(b"half")
    again = RunFolder.reopen(folder.path)
    assert list((again.path / "steps").iterdir()) == []
    assert (again.path / "orphans" / "steps-.shard-000003.parquet.part").read_bytes() == b"half"


def test_a_new_shard_never_takes_the_name_of_an_old_one(folder):
    folder.write_shard(_tables("a"))
    again = RunFolder.reopen(folder.path)
    again.write_shard(_tables("b"))
    assert len(list(again.path.glob("chains/*.parquet"))) == 2


def test_resuming_what_is_no_run_is_the_users_mistake(tmp_path):
    with pytest.raises(UserError, match="no run there"):
        RunFolder.reopen(tmp_path)


def test_a_place_that_is_a_file_is_the_users_mistake(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(UserError, match="cannot write under"):
        RunFolder.create(tmp_path / "runs", "x")


def test_a_nearly_full_disk_is_refused_before_the_run(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 3 * 2**20})
    monkeypatch.setattr(runfolder.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="only 3 MiB are free"):
        RunFolder.create(tmp_path, "x")


def test_a_disk_that_fills_up_ends_with_the_reason_and_without_a_half_shard(folder, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(runfolder.os, "fsync", full)
    with pytest.raises(UserError, match="No space left on device"):
        folder.write_shard(_tables("a"))
    assert list(folder.path.glob("*/*.parquet")) == []


def test_json_is_replaced_as_a_whole(folder):
    folder.write_json("metrics.json", {"a": 1})
    folder.write_json("metrics.json", {"a": None})
    assert json.loads((folder.path / "metrics.json").read_text()) == {"a": None}
