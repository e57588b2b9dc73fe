"""The tables of the trust job: what was sampled, what it did, and what holds of what.

A weight is a number of samples: equal programs and equal specs are one row and ran once. In a run
folder ``problems/`` is written last, so a problem is done when it stands there.
"""

import pyarrow as pa

from pipeline.schemas import ANSWER, PROBLEM, STOP, TEXT


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


PROGRAMS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("program_id", pa.string()),  # unique within the problem
        _required("source", TEXT),
        _required("samples", pa.list_(pa.int32())),  # which samples it stands for
        _required("weight", pa.int32()),  # how many; 0: the problem's own solution
        pa.field("logprob", pa.float64()),  # mean over its samples of the mean over their tokens
        _required("load", pa.string()),  # sandbox.Load
        _required("load_message", pa.string()),
        _required("cpu_s", pa.float64()),  # over specs and hidden tests
        pa.field("correct", pa.bool_()),  # passes the hidden tests; null without any, or harness
        pa.field("verdict", pa.string()),  # of the hidden tests
    ]
)

SPECS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("spec_id", pa.string()),  # unique within the problem
        _required("kind", pa.string()),  # io | relation
        _required("form", pa.string()),  # pipeline.trust.specs.Form: how it is decided
        _required("source", TEXT),
        _required("samples", pa.list_(pa.int32())),
        _required("weight", pa.int32()),
        pa.field("args", TEXT),  # of a case: Python source of the argument list
        pa.field("expected", TEXT),  # of a case: canonical encoding
        _required("message", pa.string()),  # why it is broken
    ]
)

OUTPUTS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("program_id", pa.string()),
        _required("input_id", pa.int32()),  # unique within the problem
        _required("args", TEXT),
        _required("fuzz", pa.bool_()),  # whether relations are tested on it
        _required("kind", pa.string()),  # sandbox.Kind
        pa.field("encoding", TEXT),
        _required("output", pa.string()),  # digest: equal for what counts as the same output
    ]
)

CHECKS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("program_id", pa.string()),
        _required("spec_id", pa.string()),
        # holds | violated | error (the spec's own); null: the judge failed
        pa.field("result", pa.string()),
        # Inputs of a relation by what came of them; of an IO spec the only one.
        _required("held", pa.int32()),
        _required("violated", pa.int32()),
        _required("errors", pa.int32()),
        _required("no_value", pa.int32()),  # the program gave no value
    ]
)

TRUST_TABLES = {"programs": PROGRAMS, "specs": SPECS, "outputs": OUTPUTS, "checks": CHECKS}

PROBLEMS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("dataset", pa.string()),
        _required("programs", pa.int32()),  # distinct ones that ran, the solution included
        _required("cells", pa.int64()),  # program x IO spec
        _required("relation_checks", pa.int64()),  # program x relation x input
        _required("relation_runs", pa.int64()),  # of these, what had to be run
        _required("cpu_s", pa.float64()),  # of the sandboxes, all their processes, and of deciding
        pa.field("stop_reason", pa.string()),  # why there are no programs; null: there are
        pa.field("message", pa.string()),
    ]
)

COMPLETIONS = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("sample", pa.int32()),
        _required("role", pa.string()),  # program | assert | relation | input
        _required("model", pa.string()),  # model identity, as in the manifest
        _required("sampling", pa.string()),  # canonical JSON of the parameters, seed apart
        *ANSWER,
    ]
)

TRUST_RUN_TABLES = {"completions": COMPLETIONS, **TRUST_TABLES, "problems": PROBLEMS}

SAMPLED = pa.struct(
    [
        _required("text", TEXT),
        _required("samples", pa.list_(pa.int32())),
        pa.field("logprob", pa.float64()),
    ]
)

SAMPLES = pa.struct(
    [
        _required("programs", pa.list_(SAMPLED)),
        _required("asserts", pa.list_(SAMPLED)),
        _required("relations", pa.list_(SAMPLED)),
        _required("calls", pa.list_(TEXT)),  # texts that inputs are taken from
    ]
)

COST = pa.struct(
    [
        _required("programs", pa.int64()),
        _required("cells", pa.int64()),
        _required("relation_checks", pa.int64()),
        _required("relation_runs", pa.int64()),
        _required("cpu_s", pa.float64()),
    ]
)

TRUST_ROW = pa.schema(
    [
        *PROBLEM,
        pa.field("program_answers", pa.list_(ANSWER)),  # null: nobody was asked
        pa.field("assert_answers", pa.list_(ANSWER)),
        pa.field("relation_answers", pa.list_(ANSWER)),
        pa.field("input_answers", pa.list_(ANSWER)),
        pa.field("samples", SAMPLES),  # null until the answers have been read
        *(pa.field(name, pa.list_(pa.struct(list(t)))) for name, t in TRUST_TABLES.items()),
        pa.field("cost", COST),
        pa.field("stop", STOP),  # why there are no programs to check
    ]
)
