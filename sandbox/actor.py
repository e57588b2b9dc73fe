"""One sandbox as a Ray actor: a CPU of the cluster that runs untrusted programs."""

import time
from dataclasses import replace
from typing import Any

import ray

from conf import SandboxConfig
from sandbox.box import Sandbox
from sandbox.meter import Meter
from sandbox.types import Job, ProgramResult

BATCH_S = 0.05


@ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)
class SandboxActor:
    """Runs programs one at a time.

    A job of an actor that dies is run again by the pool, on any of them: programs are deterministic
    and leave nothing behind, so that neither loses nor doubles anything. Ray must not retry by
    itself: a call would wait for this actor's next life, which may find no CPU for ever when its
    node is gone.
    """

    def __init__(self, config: SandboxConfig) -> None:
        self._sandbox = Sandbox(config)
        self._meter = Meter(self._sandbox)

    def run(self, job: Job) -> ProgramResult:
        """Run one program on its calls, and count what it cost since the last one."""
        result = self._sandbox.run(job)
        return replace(result, whole_cpu_s=self._meter.lap())

    def run_batch(self, jobs: list[Job]) -> list[ProgramResult]:
        """Run the first of the jobs: as many as begin within a short time, and at least one.

        A call costs Ray about as much as a short program costs the sandbox.
        """
        until = time.monotonic() + BATCH_S
        results = [self.run(jobs[0])]
        for job in jobs[1:]:
            if time.monotonic() >= until:
                break
            results.append(self.run(job))
        return results

    def isolation(self) -> dict[str, Any]:
        """Return what this sandbox gives, with the proof."""
        return self._sandbox.isolation.to_dict()
