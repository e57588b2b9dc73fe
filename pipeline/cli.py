"""The command line: ``COMMAND [key=value ...]``. Finds the command, prints users' mistakes."""

import argparse
import os
import select
import sys
from collections.abc import Sequence
from typing import NoReturn, TextIO

from conf import RunConfig, UserError
from pipeline.breaks import BREAK_COMMANDS
from pipeline.commands import Command
from pipeline.launchers import LAUNCH_COMMANDS
from pipeline.stored import STORED_COMMANDS
from pipeline.trust.command import TRUST_COMMANDS, describe_it, is_trust, show_prompts

USAGE_ERROR = 2
READER_LEFT = 141
"""What a shell calls an end by SIGPIPE: 128 + 13."""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are users' mistakes like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}; see ./launch.sh {self.prog} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0; 1: checked and found wanting; 2: a user's mistake; 130: interrupted; 141: the reader of our
    output has left, as with ``| head``, and there is nobody to say more to.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _act(words)
        sys.stdout.flush()
    except BrokenPipeError:
        left = [stream for stream in (sys.stdout, sys.stderr) if _has_no_reader(stream)]
        if not left:  # some other pipe of ours broke: a bug
            raise
        for stream in left:
            # Python flushes once more as it ends, and must not fail there again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return READER_LEFT
    return status


def _has_no_reader(stream: TextIO) -> bool:
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _act(words: list[str]) -> int:
    try:
        if not words or words[0] in ("-h", "--help", "help"):
            print(_overview())
            return 0
        name, *rest = words
        command = COMMANDS.get(name)
        if command is None:
            raise UserError(f"there is no command {name!r}; possible: {', '.join(COMMANDS)}")
        if "-h" in rest or "--help" in rest:
            print(command.help)
            return 0
        return command.act(rest)
    except UserError as error:
        print(f"holdtrue: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("holdtrue: interrupted", file=sys.stderr)
        return 130


def _config(overrides: list[str]) -> RunConfig:
    from pipeline.compose import load_config

    return load_config(overrides)


def _run(words: list[str]) -> int:
    from pipeline.run import run
    from pipeline.sweep import is_sweep, sweep

    return sweep(words) if is_sweep(words) else run(words)


def _describe(words: list[str]) -> int:
    from pipeline.datasets import load_problems
    from pipeline.describe import describe
    from pipeline.plan import local_cpus, make_plan
    from pipeline.sweep import is_sweep

    if is_trust(words):
        return describe_it(words[1:])
    if is_sweep(words):
        return _describe_sweep(words)
    probe = "probe=true" in words
    words = [word for word in words if word not in ("probe=true", "probe=false")]
    config = _config(words)
    chains = load_problems(config.dataset).num_rows * config.chain.samples
    print(describe(config, make_plan(config, chains=chains, cpus=local_cpus(config.cluster))))
    print(f"\n{_estimate(words, config) if probe else NO_PROBE}")
    return 0


NO_PROBE = (
    "How long it takes: ./launch.sh describe probe=true ... makes 1 % of the chains and says."
)


def _estimate(words: list[str], config: RunConfig) -> str:
    from pipeline.estimate import render_estimate
    from pipeline.probing import probe_run
    from pipeline.sweep.points import engines_for

    gpus = sum(engine.gpus for engine in engines_for(config))
    return "\n".join(render_estimate(probe_run(words, config), gpus=gpus))


def _describe_sweep(words: list[str]) -> int:
    from pipeline.plan import local_cpus
    from pipeline.sweep import describe_sweep
    from pipeline.sweep.points import engines_of, make_points
    from pipeline.sweep.sweep import FLAGS

    points = make_points([word for word in words if word not in FLAGS])
    # What a cluster has is known when it runs; without one, take what the engines ask for.
    gpus = sum(engine.gpus for engine in engines_of(points))
    print(describe_sweep(points, cpus=local_cpus(points[0].config.cluster), gpus=gpus))
    return 0


def _prompts(words: list[str]) -> int:
    from pipeline.preview import preview

    if is_trust(words):
        return show_prompts(words[1:])
    for line in preview(["dataset.limit=1", *words]):
        print(line)
    return 0


def _check(words: list[str]) -> int:
    from pipeline.checking import render_gold, run_check

    # A check is about the data set, so it takes all of it unless told otherwise.
    report = run_check(_config(["dataset.limit=null", *words]))
    print(render_gold(report))
    return 0 if report.sound else 1


def _judge(words: list[str]) -> int:
    from pathlib import Path

    from pipeline import judge

    parser = _Parser(prog="judge", add_help=False)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    given = parser.parse_args(words)
    return judge.main(given.files, given.out)


def _doctor(words: list[str]) -> int:
    from sandbox.doctor import report

    if words:
        raise UserError(f"doctor takes no words, got {' '.join(words)}")
    for line in report():
        print(line, flush=True)
    return 0


def _overview() -> str:
    lines = [f"  {name:<10}{command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: ./launch.sh [COMMAND] [key=value ...]",
            "",
            "Commands (COMMAND --help tells more):",
            *lines,
            "  setup     only install what is needed",
            "  test      install what the tests need and run them",
            "",
            "Without a command: run. Keys are those of conf/*schema.py, in Hydra's grammar.",
        ]
    )


COMMANDS = {
    "run": Command(
        "run the chain job and show its scores",
        """usage: ./launch.sh run [key=value ...]

Runs the chain job: every problem goes text -> program -> description -> program -> ...,
every program runs on the problem's tests. Results go to runs/<time>-<name>/.

  ./launch.sh run                                  8 HumanEval problems, the embedded model
  ./launch.sh run dataset.limit=null               all problems
  ./launch.sh run model=hf model.path=FOLDER       your model (a folder or a hub name)
  ./launch.sh run dataset.path=FILE                your problems (.jsonl or .parquet, docs/data.md)
  ./launch.sh run chain.length=5 chain.stop=[fixed_point,cycle,decided]
  ./launch.sh run resume=runs/FOLDER               go on with a run that was stopped; so does
                                                   the same command
  ./launch.sh run runs_dir=s3://BUCKET/runs        keep the run there; every RUN may be an address
  ./launch.sh run budget.tokens=1000000            stop there, with a partial result
  ./launch.sh run serve=replay serve.replay_from=RUN   again from its journal, no engine
  ./launch.sh run -m model=A,B chain.length=3,5    a sweep: every combination, shared engines

Groups (in conf/): model, dataset, prompt, serve, engine, chain, sandbox, cluster, tracking.""",
        _run,
    ),
    **TRUST_COMMANDS,
    "describe": Command(
        "print what a run would do, then stop",
        """usage: ./launch.sh describe [key=value ...]

Takes the same keys as run; `describe trust ...` describes the trust job. Prints the stages with
the columns they read and write, the resources, the number of requests and tokens, and whether
the CPUs suffice; starts nothing.

  ./launch.sh describe probe=true    also makes 1 % of the chains (at least 4) on the real engine,
                                     throws them away, and says what all will cost and take
  ./launch.sh describe -m model=A,B  the points of a sweep, and which run side by side""",
        _describe,
    ),
    "prompts": Command(
        "print exactly what will be sent, then stop",
        """usage: ./launch.sh prompts [model=CARD] [dataset=NAME] [key=value ...]

Takes the same keys as run; `prompts trust ...` shows the requests of the trust job. Prints the
requests of steps 0 and 1 for the first problem
(dataset.limit=N for more), as the model's own template and tokenizer make them, with their
number of tokens and stop strings. Where a run would show the model's own program or
description, the data set's stands in. Without its tokenizer a prompt is shown unrendered.""",
        _prompts,
    ),
    "check": Command(
        "judge a data set's own solutions",
        """usage: ./launch.sh check [dataset=NAME | dataset.path=FILE] [key=value ...]

Runs every canonical solution through the same judge as a run, with its own name and masked as
`func`. Lists each problem that fails, with the reason; exit status 1 if there is one.""",
        _check,
    ),
    "judge": Command(
        "judge stored programs, without a model",
        """usage: ./launch.sh judge FILES... --out OUT.jsonl

FILES are .json (one record) or .jsonl. A record has `id`, `problem` (function_name,
function_signature, problem, contract, atol), `completion` (raw model text) or `program`, and
`tests` (input: source of the argument list, expected: a Python literal); optional `preamble`
and `limits`. Each line of OUT has id, verdict, per_test, extraction, isolation.""",
        _judge,
    ),
    **STORED_COMMANDS,
    **BREAK_COMMANDS,
    **LAUNCH_COMMANDS,
    "doctor": Command(
        "print what isolation this host gives, and the proof",
        """usage: ./launch.sh doctor

Tries every isolation level: a sandbox is started and a throw-away child of it tries what must
not be possible, act by act. A level that the host cannot give is shown with the missing layer
and the remedy.

  refused  as it should be           works   right programs need it, and it works
  OPEN     this level leaves it open BROKEN  right programs need it, and it does not work""",
        _doctor,
    ),
}

if __name__ == "__main__":
    sys.exit(main())
