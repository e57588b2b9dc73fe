"""Every table that crosses a room's border, as an Arrow schema.

Nested records have a ``TypedDict`` twin in ``pipeline/records.py``; a test holds the two equal.
"""

import pyarrow as pa

TEXT = pa.large_string()


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


TEST = pa.struct(
    [
        _required("test_id", pa.string()),
        pa.field("args", TEXT),  # Python source of the argument list; null for a check
        pa.field("check", TEXT),  # Python source of an assert-test; null for a plain test
        pa.field("expected", TEXT),  # canonical encoding; null for a check or an unlabelled test
        _required("comparator", pa.string()),  # exact | python | approx
        pa.field("atol", pa.float64()),  # of approx; null otherwise
        _required("source", pa.string()),  # where the test came from
    ]
)

PROBLEM = pa.schema(
    [
        _required("problem_id", pa.string()),
        _required("dataset", pa.string()),
        _required("prompt", TEXT),  # preamble + signature + docstring, as the data set has it
        _required("entry_point", pa.string()),
        _required("preamble", TEXT),  # imports and helpers that stand before the signature
        _required("signature", TEXT),  # from `def` to the colon
        _required("docstring", TEXT),  # the text, dedented, without quotes
        _required("tests", pa.list_(TEST)),
        pa.field("canonical_solution", TEXT),  # a whole program; null if unknown
    ]
)

ANSWER = pa.struct(
    [
        _required("request_id", pa.string()),
        _required("prompt_key", pa.string()),
        _required("prompt", TEXT),  # the exact text the engine tokenised
        pa.field("text", TEXT),  # null when the request failed
        pa.field("prompt_tokens", pa.int32()),
        pa.field("completion_tokens", pa.int32()),
        pa.field("finish_reason", pa.string()),  # stop | length
        pa.field("logprob", pa.float64()),
        _required("attempts", pa.int32()),
        _required("asked_at", pa.float64()),  # seconds since 1970
        _required("seconds", pa.float64()),  # until the answer, waiting and retries included
        pa.field("error_kind", pa.string()),  # prompt_too_long | engine_error | not_recorded
        pa.field("error_message", pa.string()),
    ]
)

OUTCOME = pa.struct(
    [
        _required("test_id", pa.string()),
        _required("kind", pa.string()),  # sandbox.Kind
        pa.field("encoding", TEXT),
        _required("message", pa.string()),
        _required("cpu_s", pa.float64()),
        _required("verdict", pa.string()),  # pass | fail | the kind
        pa.field("matches_previous", pa.bool_()),  # null: no previous step, or not comparable
    ]
)

SUMMARY = pa.struct(
    [
        _required("answer", ANSWER),
        pa.field("nl", TEXT),  # the description taken from the answer; null: none to take
    ]
)

GENERATION = pa.struct(
    [
        pa.field("answer", ANSWER),  # null: nobody was asked, the program is the data set's
        pa.field("pl", TEXT),  # the program taken from the answer; null: none to take
        _required("extraction", pa.string()),  # how it was taken (pipeline/extraction.py)
    ]
)

EXECUTION = pa.struct(
    [
        _required("load", pa.string()),  # sandbox.Load
        _required("load_message", pa.string()),
        _required("verdict", pa.string()),  # the worst of the program's tests
        _required("isolation", pa.string()),
        _required("cpu_s", pa.float64()),
        _required("outcomes", pa.list_(OUTCOME)),
    ]
)

STEP = pa.struct(
    [
        _required("index", pa.int32()),
        pa.field("summary", SUMMARY),  # null at step 0
        pa.field("generation", GENERATION),  # null when the chain stopped on its description
        pa.field("execution", EXECUTION),  # null when there was no program
    ]
)

RESAMPLE = pa.struct(
    [
        _required("index", pa.int32()),
        _required("from_step", pa.int32()),  # whose program was described
        _required("to_step", pa.int32()),  # whose description was written from once more
        _required("generation", GENERATION),
        pa.field("execution", EXECUTION),  # null when there was no program
        _required("finding", pa.string()),  # pipeline.blaming.Finding
    ]
)

STOP = pa.struct(
    [
        _required("reason", pa.string()),  # pipeline.records.StopReason
        _required("step", pa.int32()),  # the step at which it was known
        pa.field("cycle_start", pa.int32()),  # of a closed chain: first step of the cycle
        pa.field("cycle_length", pa.int32()),  # of a closed chain: steps in the cycle
        # Of a cycle longer than 1: its last step compared with its first, test by test.
        pa.field("closing_comparable", pa.int32()),
        pa.field("closing_matching", pa.int32()),
        pa.field("message", pa.string()),
    ]
)

CHAIN_ROW = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("sample", pa.int32()),
        *PROBLEM,
        pa.field("summary", SUMMARY),  # of the step being made
        pa.field("generation", GENERATION),
        pa.field("execution", EXECUTION),
        _required("steps", pa.list_(STEP)),  # finished steps, in order
        pa.field("stop", STOP),  # null while the chain is open
        _required("resamples", pa.list_(RESAMPLE)),  # where the chain broke, if asked for
    ]
)

# What travels between rounds: a chain without its problem's texts, which every round has at hand.
IN_TRANSIT = pa.schema(
    [f for f in CHAIN_ROW if f.name not in PROBLEM.names or f.name in ("problem_id", "dataset")]
)

# A chain that is still to be made.
OPEN_CHAIN = pa.schema([_required("problem_id", pa.string()), _required("sample", pa.int32())])

# The tables of a run folder. A chain's key is (problem_id, sample); chain_id spells it out.

CHAINS = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("problem_id", pa.string()),
        _required("dataset", pa.string()),
        _required("sample", pa.int32()),
        _required("length", pa.int32()),  # steps asked for after step 0
        _required("steps", pa.int32()),  # steps whose program ran, step 0 included
        _required("stop_reason", pa.string()),
        _required("stop_step", pa.int32()),
        # A closed chain made steps 0 .. cycle_start + cycle_length - 1 and repeats from there.
        pa.field("cycle_start", pa.int32()),
        pa.field("cycle_length", pa.int32()),
        pa.field("closing_comparable", pa.int32()),
        pa.field("closing_matching", pa.int32()),
        pa.field("message", pa.string()),
    ]
)

STEPS = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("problem_id", pa.string()),
        _required("sample", pa.int32()),
        _required("step", pa.int32()),
        pa.field("nl", TEXT),
        pa.field("pl", TEXT),
        pa.field("summary_request", pa.string()),  # completions.request_id
        pa.field("generation_request", pa.string()),
        pa.field("extraction", pa.string()),
        pa.field("load", pa.string()),
        pa.field("load_message", pa.string()),
        pa.field("verdict", pa.string()),  # null when nothing ran
        pa.field("cpu_s", pa.float64()),
        pa.field("isolation", pa.string()),
        _required("tests", pa.int32()),  # outcomes recorded
        _required("comparable", pa.int32()),  # outcomes comparable with the step before
        _required("matching", pa.int32()),  # of those, equal to the step before
    ]
)

OUTCOMES = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("problem_id", pa.string()),
        _required("sample", pa.int32()),
        _required("step", pa.int32()),
        *OUTCOME,
    ]
)

COMPLETIONS = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("problem_id", pa.string()),
        _required("sample", pa.int32()),
        _required("step", pa.int32()),
        _required("role", pa.string()),  # summarize | generate
        _required("model", pa.string()),  # model identity, as in the manifest
        _required("sampling", pa.string()),  # canonical JSON of the sampling parameters
        *ANSWER,
    ]
)

RESAMPLES = pa.schema(
    [
        _required("chain_id", pa.string()),
        _required("problem_id", pa.string()),
        _required("sample", pa.int32()),
        _required("step", pa.int32()),  # whose description it was written from
        _required("from_step", pa.int32()),  # whose program was described
        _required("index", pa.int32()),
        _required("finding", pa.string()),
        pa.field("pl", TEXT),
        _required("extraction", pa.string()),
        pa.field("load", pa.string()),
        pa.field("load_message", pa.string()),
        pa.field("verdict", pa.string()),  # null when nothing ran
        pa.field("cpu_s", pa.float64()),
        _required("comparable", pa.int32()),  # outcomes comparable with those of from_step
        _required("matching", pa.int32()),  # of those, equal to it
        _required("model", pa.string()),
        _required("sampling", pa.string()),
        *ANSWER,
    ]
)

RUN_TABLES = {
    "chains": CHAINS,
    "steps": STEPS,
    "outcomes": OUTCOMES,
    "completions": COMPLETIONS,
    "resamples": RESAMPLES,
}
