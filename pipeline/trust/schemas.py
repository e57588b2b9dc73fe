"""The tables of the trust job: what was sampled, what it did, and what holds of what.

One shard is one problem; ``checks/`` is written last, so a problem is done when its file stands
there. A weight is a number of samples: equal programs and equal specs are one row and ran once.
"""

import pyarrow as pa

from pipeline.schemas import TEXT


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
