"""The ``trust`` command's words and help."""

from pipeline.commands import Command


def _trust(words: list[str]) -> int:
    from pipeline.trust.job import run_trust

    return run_trust(words)


TRUST_COMMANDS = {
    "trust": Command(
        "run the trust job: how likely is each sampled program right?",
        """usage: ./launch.sh trust [key=value ...]

For each problem the model writes programs and, independently, specs: input-output asserts, and
relations between the parameters and the return value. Every program is checked against every spec;
the one that agrees best is chosen, with a probability if a fitted model is given. Results go to
runs/<time>-trust/ (docs/trust.md).

  ./launch.sh trust dataset.limit=3 trust.k=8      3 HumanEval problems, the embedded model
  ./launch.sh trust trust.inputs=both              ask the model for inputs of relations, too
  ./launch.sh trust trust.from=FOLDER              check stored samples, without an engine
  ./launch.sh trust trust.fit=FILE                 fit a model on the labelled programs
  ./launch.sh trust trust.model=FILE trust.threshold=0.8
                                                   answer only at that probability
  ./launch.sh trust resume=runs/FOLDER             go on with a run that was stopped

Takes the keys of run too; those of trust.* stand in conf/trust_schema.py.""",
        _trust,
    ),
}
