import polars as pl
import pyarrow as pa
import pytest
from chain_cases import case_of, to_tables

from analysis import RunTables, check_complete, read_run
from analysis.tables import EXTRA_TABLES, RUN_TABLES, STOP_REASONS
from conf import UserError
from pipeline.records import StopReason
from pipeline.schemas import RUN_TABLES as WRITTEN


def write_run(folder, cases, shard="shard-000000.parquet"):
    tables = to_tables(cases)
    for name in RUN_TABLES:
        (folder / name).mkdir(exist_ok=True)
        getattr(tables, name).collect().write_parquet(folder / name / shard)


@pytest.mark.parametrize("table", WRITTEN)
def test_columns_are_those_that_the_pipeline_writes(table):
    empty: pa.Table = WRITTEN[table].empty_table()
    assert pl.DataFrame(empty).schema == (RUN_TABLES | EXTRA_TABLES)[table]


def test_stop_reasons_are_those_that_the_pipeline_writes():
    written = {reason.value for reason in StopReason} - {StopReason.SUSPENDED}
    assert set(STOP_REASONS) == written


def test_reads_all_published_shards(tmp_path):
    write_run(tmp_path, [case_of("length", 0, "P", sample=0)], "shard-000000.parquet")
    write_run(tmp_path, [case_of("length", 0, "P", sample=1)], "shard-000001.parquet")
    tables = read_run(tmp_path)
    assert tables.chains.collect().height == 2
    check_complete(tables)


def test_a_run_without_shards_is_empty_with_declared_columns(tmp_path):
    (tmp_path / "chains").mkdir()
    tables = read_run(tmp_path)
    assert tables.outcomes.collect().schema == RUN_TABLES["outcomes"]
    assert tables.completions.collect().height == 0


def test_a_shard_that_never_reached_chains_is_not_read(tmp_path):
    write_run(tmp_path, [case_of("length", 0, "P")], "shard-000000.parquet")
    write_run(tmp_path, [case_of("length", 0, "P", sample=1)], "shard-000001.parquet")
    (tmp_path / "chains" / "shard-000001.parquet").unlink()
    assert read_run(tmp_path).steps.collect().height == 1


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="no run there"):
        read_run(tmp_path / "missing")


def test_a_missing_shard_is_named(tmp_path):
    write_run(tmp_path, [case_of("length", 0, "P")])
    (tmp_path / "steps" / "shard-000000.parquet").unlink()
    with pytest.raises(UserError, match=r"steps/shard-000000.parquet: this shard is missing"):
        read_run(tmp_path)


def test_an_unreadable_shard_is_named(tmp_path):
    write_run(tmp_path, [case_of("length", 0, "P")])
    (tmp_path / "outcomes" / "shard-000000.parquet").write_bytes(b"not parquet")
    with pytest.raises(UserError, match=r"outcomes/shard-000000.parquet: not a readable"):
        read_run(tmp_path)


def test_a_shard_with_other_columns_is_named(tmp_path):
    write_run(tmp_path, [case_of("length", 0, "P")])
    shard = tmp_path / "chains" / "shard-000000.parquet"
    pl.read_parquet(shard).drop("closing_matching").write_parquet(shard)
    with pytest.raises(UserError, match="closing_matching"):
        read_run(tmp_path)


def change(tables: RunTables, **changed: pl.LazyFrame) -> RunTables:
    return RunTables(**{name: changed.get(name, getattr(tables, name)) for name in RUN_TABLES})


@pytest.fixture
def tables() -> RunTables:
    return to_tables([case_of("length", 1, "PP", length=1)])


def test_a_lost_outcome_is_noticed(tables):
    with pytest.raises(UserError, match="'p/0'"):
        check_complete(change(tables, outcomes=tables.outcomes.slice(1)))


def test_a_lost_step_is_noticed(tables):
    kept = change(tables, steps=tables.steps.limit(1), outcomes=tables.outcomes.limit(4))
    with pytest.raises(UserError, match="'p/0'"):
        check_complete(kept)


def test_a_chain_written_twice_is_noticed(tables):
    with pytest.raises(UserError, match="'p/0'"):
        check_complete(change(tables, chains=pl.concat([tables.chains, tables.chains])))


def test_a_step_of_no_chain_is_noticed(tables):
    with pytest.raises(UserError, match="'p/0'"):
        check_complete(change(tables, chains=tables.chains.clear()))


def test_a_count_that_its_outcomes_do_not_give_is_noticed(tables):
    wrong = tables.steps.with_columns(matching=pl.col("matching") - (pl.col("step") == 1))
    with pytest.raises(UserError, match="'p/0'"):
        check_complete(change(tables, steps=wrong.cast({"matching": pl.Int32})))
