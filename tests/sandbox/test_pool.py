"""The pool of sandbox actors, on the session's Ray."""

import asyncio
from pathlib import Path

import pytest

import sandbox
from conf import SandboxConfig, UserError
from sandbox import Call, Job, Kind, Limits, SandboxPool

pytestmark = pytest.mark.ray

LIMITS = Limits()
CONFIG = SandboxConfig(isolation="standard")


def job(number, program="def f(x): return x * 2", limits=LIMITS):
    return Job(f"job {number}", program, "f", (Call("0", args=str(number)),), limits)


def test_an_actor_that_cannot_start_is_the_user_s_error(ray_session):
    # Before the pool of the other tests, which takes all CPUs.
    config = SandboxConfig(isolation="standard")
    config.isolation = "unheard-of"
    with pytest.raises(UserError, match="unheard-of"):
        SandboxPool.start(config, actors=1)


@pytest.fixture(scope="module")
def pool(ray_session):
    with SandboxPool.start(CONFIG, actors=2) as started:
        yield started


def test_every_job_comes_back_once_with_its_own_result(pool):
    results = list(pool.run_many(job(i) for i in range(40)))
    assert sorted((r.job_id, r.outcomes[0].encoding) for r in results) == sorted(
        (f"job {i}", str(2 * i)) for i in range(40)
    )


def test_jobs_are_taken_as_actors_become_free(pool):
    taken = []

    def source():
        for i in range(20):
            taken.append(i)
            yield job(i)

    results = pool.run_many(source())
    next(results)
    assert len(taken) < 10
    assert len(list(results)) == 19


def test_what_an_actor_does_not_get_to_is_run_by_the_next(pool):
    quick, slow = "def f(x): return x * 2", "def f(x):\n    while True: pass"
    limits = Limits(cpu_s=0.2)
    jobs = [job(i, slow if i >= 30 else quick, limits) for i in range(40)]
    results = list(pool.run_many(jobs))
    assert sorted((r.job_id, r.outcomes[0].kind) for r in results) == sorted(
        (f"job {i}", Kind.TIMEOUT if i >= 30 else Kind.VALUE) for i in range(40)
    )


async def test_a_job_can_be_awaited(pool):
    results = await asyncio.gather(*(pool.run(job(i)) for i in range(6)))
    assert [r.outcomes[0].encoding for r in results] == [str(2 * i) for i in range(6)]


async def test_a_dead_actor_s_jobs_are_run_again_and_none_is_doubled(pool):
    import ray

    slow = "import time\ndef f(x):\n    time.sleep(0.5)\n    return x * 2"
    waiting = [asyncio.ensure_future(pool.run(job(i, slow))) for i in range(6)]
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert done
    for actor in pool._actors:
        ray.kill(actor, no_restart=False)
    results = await asyncio.gather(*waiting)
    assert [r.outcomes[0].encoding for r in results] == [str(2 * i) for i in range(6)]


class Method:
    """What a handle has for each method of its actor."""

    def __init__(self, answer):
        self.answer = answer

    def remote(self, *work):
        return self.answer(*work)


class Handle:
    def __init__(self, run, isolation):
        self.run_batch, self.isolation = Method(run), Method(isolation)


async def test_a_job_that_ray_forgot_is_run_by_another_actor(monkeypatch):
    from ray.exceptions import ActorUnavailableError

    async def forget(jobs):
        await asyncio.Event().wait()

    async def refuse():
        raise ActorUnavailableError("its node is gone", None)

    async def answer(jobs):
        return [f"result of {each.job_id}" for each in jobs]

    monkeypatch.setattr("sandbox.pool.CHECK_S", 0.01)
    two = SandboxPool([Handle(forget, refuse), Handle(answer, refuse)], {})
    assert await two.run(job(1)) == "result of job 1"


async def test_a_job_that_takes_long_is_waited_for(monkeypatch):
    checks = []

    async def answer_late(jobs):
        while len(checks) < 3:
            await asyncio.sleep(0)
        return [f"result of {each.job_id}" for each in jobs]

    async def answer_check():
        checks.append("here")

    monkeypatch.setattr("sandbox.pool.CHECK_S", 0.01)
    one = SandboxPool([Handle(answer_late, answer_check)], {})
    assert await one.run(job(1)) == "result of job 1"


def test_a_pool_travels_to_other_actors(pool):
    import ray

    @ray.remote(num_cpus=0)
    class Stage:
        async def judge(self, pool, job):
            return await pool.run(job)

    stage = Stage.remote()
    result = ray.get(stage.judge.remote(pool, job(21)))
    assert result.outcomes[0].encoding == "42"
    ray.kill(stage)


def test_all_actors_give_one_level_which_the_pool_reports(pool):
    assert pool.isolation["level"] == "standard"
    assert [r.isolation for r in pool.run_many([job(1)])] == ["standard"]


def test_hostile_programs_leave_the_actors_working(pool):
    attacks = [
        "import os\ndef f(x): os._exit(0)",
        "import os, signal\ndef f(x): os.kill(os.getppid(), 9)",
        "def f(x): return [0] * 10**10",
    ]
    results = list(pool.run_many(job(i, program) for i, program in enumerate(attacks)))
    assert {r.outcomes[0].kind for r in results} == {Kind.CRASH, Kind.ERROR, Kind.MEMORY}
    assert len(list(pool.run_many(job(i) for i in range(4)))) == 4


def test_importing_the_package_imports_neither_ray_nor_numpy():
    import subprocess
    import sys

    code = "import sys, sandbox; sandbox.Sandbox; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path.cwd()).returncode == 0
    assert {"Sandbox", "SandboxPool"} <= set(sandbox.__all__)
