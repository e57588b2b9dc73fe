import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.compose import load_config, to_plain
from pipeline.schemas import RUN_TABLES
from pipeline.tracking.parcel import pack, plain_columns
from pipeline.trust.schemas import TRUST_RUN_TABLES

SECRET = "a text of the model"


def value_of(field):
    if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
        return f"{SECRET} in {field.name}" if field.name not in SAFE else "x"
    if pa.types.is_list(field.type):
        return [1]
    return True if pa.types.is_boolean(field.type) else 1


SAFE = ("chain_id", "problem_id", "dataset", "stop_reason", "role", "model", "sampling", "test_id")
SAFE += ("summary_request", "generation_request", "request_id", "prompt_key", "extraction", "load")
SAFE += ("verdict", "isolation", "kind", "finish_reason", "error_kind", "finding")
SAFE += ("program_id", "spec_id", "form", "result", "output")


@pytest.fixture
def folder(tmp_path):
    """The folder of a chain run in which every text is the secret."""
    return secret_run(tmp_path, RUN_TABLES)


def secret_run(tmp_path, tables):
    run = tmp_path / "run"
    for name, schema in tables.items():
        (run / name).mkdir(parents=True)
        table = pa.Table.from_pylist([{f.name: value_of(f) for f in schema}], schema=schema)
        pq.write_table(table, run / name / "shard-000000.parquet", compression=None)
    config = to_plain(load_config([])) | {"prompt": {"name": "chat", "generate_user": SECRET}}
    manifest = {"config": config, "dataset": {"left_out": {"a": SECRET}}, "example": SECRET}
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / "metrics.json").write_text("{}")
    (run / "run.log").write_text(SECRET)
    return run


def sent(folder, tmp_path, texts):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return {name: path.read_bytes() for name, path in pack(folder, scratch, texts=texts)}


def test_nothing_that_quotes_a_text_is_sent(folder, tmp_path):
    files = sent(folder, tmp_path, texts=False)
    assert [name for name, content in files.items() if SECRET.encode() in content] == []
    assert {name.partition("/")[0] for name in files} == {
        "manifest.json",
        "metrics.json",
        *RUN_TABLES,
    }


def test_a_trust_run_sends_no_text_either(tmp_path):
    run = secret_run(tmp_path, TRUST_RUN_TABLES)
    for name in ("answers.json", "explanations.parquet"):
        (run / name).write_text(SECRET)
    files = sent(run, tmp_path, texts=False)
    assert [name for name, content in files.items() if SECRET.encode() in content] == []
    assert {"checks", "specs", "outputs"} <= {name.partition("/")[0] for name in files}


def test_everything_is_sent_when_asked_for(folder, tmp_path):
    files = sent(folder, tmp_path, texts=True)
    assert SECRET.encode() in files["run.log"]
    assert SECRET.encode() in files["completions/shard-000000.parquet"]


def test_what_is_counted_and_chosen_is_sent():
    assert {"verdict", "tests", "matching"} <= set(plain_columns(RUN_TABLES["steps"]))
    assert {"prompt_tokens", "finish_reason"} <= set(plain_columns(RUN_TABLES["completions"]))
