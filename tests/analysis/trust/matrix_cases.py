import polars as pl

from analysis.trust.tables import TrustTables


def make_tables(
    votes: dict[str, str],
    *,
    weights: dict[str, int] | None = None,
    kind: str = "io",
    outputs: dict[str, str] | None = None,
) -> TrustTables:
    """One problem: ``votes`` has for each program a letter a spec: h(olds), v(iolated), e(rror).

    ``outputs`` has for each program a letter an input; "!" is an exception.
    """
    weights = dict.fromkeys(votes, 1) | (weights or {})
    specs = range(len(next(iter(votes.values()))))
    ends = {"h": "holds", "v": "violated", "e": "error"}
    numbers = iter(range(1000))
    programs = pl.DataFrame(
        [
            {
                "problem_id": "p",
                "program_id": name,
                "samples": [next(numbers) for _ in range(weights[name])],
                "weight": weights[name],
                "logprob": None,
                "source": f"def f(x): return '{name}'",
                "load": "ok",
                "correct": name == "right",
            }
            for name in votes
        ],
        schema_overrides={"logprob": pl.Float64},
    )
    checks = [
        {
            "problem_id": "p",
            "program_id": name,
            "spec_id": str(spec),
            "result": ends[letters[spec]],
            "held": int(letters[spec] == "h"),
            "violated": int(letters[spec] == "v"),
            "errors": int(letters[spec] == "e"),
            "no_value": 0,
        }
        for name, letters in votes.items()
        for spec in specs
    ]
    shown = outputs or dict.fromkeys(votes, "a")
    rows = [
        {
            "problem_id": "p",
            "program_id": name,
            "input_id": number,
            "args": str(number),
            "fuzz": True,
            "kind": "error" if letter == "!" else "value",
            "encoding": None if letter == "!" else letter,
            "output": letter,
        }
        for name, letters in shown.items()
        for number, letter in enumerate(letters)
    ]
    spec_rows = [
        {
            "problem_id": "p",
            "spec_id": str(spec),
            "kind": kind,
            "weight": 1,
            "source": f"spec {spec}",
            "args": str(spec) if kind == "io" else None,
        }
        for spec in specs
    ]
    shown_specs = pl.DataFrame(spec_rows, schema_overrides={"args": pl.String})
    return TrustTables(programs, shown_specs, pl.DataFrame(rows), pl.DataFrame(checks))
