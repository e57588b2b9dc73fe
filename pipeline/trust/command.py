"""The ``trust`` command's words and help."""

from conf import UserError
from pipeline.commands import Command

_SWEEP = ("-m", "--multirun")


def _trust(words: list[str]) -> int:
    from pipeline.trust.job import run_trust

    _refuse(words)
    return run_trust(words)


def is_trust(words: list[str]) -> bool:
    """Tell whether the first word names the trust job: ``describe trust ...``."""
    return words[:1] == ["trust"]


def describe_it(words: list[str]) -> int:
    """Print what a trust run would do."""
    from pipeline.trust.describing import describe_trust

    _refuse(words)
    if "probe=true" in words:
        raise UserError(
            "describe trust: a probe is made of the chain job only; leave probe=true out"
        )
    print(describe_trust(words))
    return 0


def show_prompts(words: list[str]) -> int:
    """Print what a trust run would send."""
    from pipeline.trust.describing import preview_trust

    _refuse(words)
    for line in preview_trust(["dataset.limit=1", *words]):
        print(line)
    return 0


def _refuse(words: list[str]) -> None:
    if any(word in _SWEEP for word in words):
        raise UserError("trust: there are sweeps of the chain job only; call trust once a setting")


TRUST_COMMANDS = {
    "trust": Command(
        "run the trust job: how likely is each sampled program right?",
        """usage: ./launch.sh trust [key=value ...]

For each problem the model writes programs and, independently, specs: input-output asserts, and
relations between the parameters and the return value. Every program is checked against every spec;
the one that agrees best is chosen, with a probability if a fitted model is given. Results go to
runs/<time>-trust/ (docs/trust.md).

  ./launch.sh trust dataset.limit=3 trust.k=8      3 HumanEval problems, the embedded model
  ./launch.sh trust prompt=mixed ...               ask for specs in raw text: for small models
  ./launch.sh trust trust.inputs=both              ask the model for inputs of relations, too
  ./launch.sh trust trust.from=FOLDER              check stored samples, without an engine
  ./launch.sh trust trust.fit=FILE                 fit a model on the labelled programs
  ./launch.sh trust trust.model=FILE trust.threshold=0.8
                                                   answer only at that probability
  ./launch.sh trust resume=runs/FOLDER             go on with a run that was stopped; so does
                                                   the same command
  ./launch.sh describe trust ..., prompts trust ...   what it would do, and send

Takes the keys of run too; those of trust.* stand in conf/trust_schema.py.""",
        _trust,
    ),
}
