"""A model and a sandbox made of dictionaries, for tests of stages and whole chains without Ray."""

import asyncio

import pyarrow as pa

from conf import RunConfig
from pipeline.round import Round
from pipeline.schemas import PROBLEM
from pipeline.stages import StageContext, last_stages, round_stages
from pipeline.tables import open_chains
from sandbox.types import Kind, Load, Outcome, ProgramResult
from serve.messages import Completion, Failure

PROBLEM_ROW = {
    "problem_id": "toy/1",
    "dataset": "toy",
    "prompt": 'def twice(n):\n    """Double n."""\n',
    "entry_point": "twice",
    "preamble": "",
    "signature": "def twice(n):",
    "docstring": "Double n.",
    "tests": [
        {
            "test_id": str(n),
            "args": str(n),
            "check": None,
            "expected": str(2 * n),
            "comparator": "python",
            "atol": None,
            "source": "test",
        }
        for n in (1, 2)
    ],
    "canonical_solution": "def twice(n):\n    return 2 * n\n",
}


class ScriptedModel:
    """Answers a request by its step and role; counts what it was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def generate(self, request_id, prompt, sampling):
        _, step, role = request_id.rsplit("/", 2)
        self.asked.append((int(step), role))
        answer = self.answers[f"{role}_{step}"]
        if isinstance(answer, Failure):
            return answer
        text, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        return Completion(text, "rendered", 10, 5, finish, -1.0)


class InProcess:
    """Runs the toy programs of these tests, which are our own, in this process."""

    async def run(self, job):
        space = {}
        try:
            exec(compile(job.program, "p", "exec"), space)
        except SyntaxError as error:
            skipped = tuple(Outcome(call.test_id, Kind.SKIPPED) for call in job.calls)
            return ProgramResult(job.job_id, Load.SYNTAX, skipped, str(error), "none")
        outcomes = tuple(
            Outcome(call.test_id, Kind.VALUE, str(space[job.entry_point](int(call.args))))
            for call in job.calls
        )
        return ProgramResult(job.job_id, Load.OK, outcomes, isolation="none")


class BrokenSandbox:
    """Never manages to run anything."""

    async def run(self, job):
        lost = tuple(Outcome(call.test_id, Kind.HARNESS, message="lost") for call in job.calls)
        return ProgramResult(job.job_id, Load.HARNESS, lost, "lost", "none")


def code(expression, name="func"):
    """Return an answer that holds a program."""
    return f"```python\ndef {name}(n):\n    return {expression}\n```"


def walk_chain(model, config=None, sandbox=None, problem=None, describer=None):
    """Walk one chain through all its rounds and return its row."""
    config = config or RunConfig()
    table = pa.Table.from_pylist([problem or PROBLEM_ROW], schema=PROBLEM)
    rows = open_chains(table, config, finished=set()).rows()

    async def walk():
        walked = rows
        for step in range(config.chain.length + 1):
            context = StageContext(config, step, model, sandbox or InProcess(), describer)
            walked = await Round([make(context) for make in round_stages(step, config.chain)]).walk(
                walked
            )
        last = [make(context) for make in last_stages(config.chain)]
        return await Round(last, afterwards=True).walk(walked)

    (row,) = asyncio.run(walk())
    return row
