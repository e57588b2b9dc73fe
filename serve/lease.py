"""Who uses an engine on a cluster that outlives its drivers, so that none is left to nobody.

Theory of operation. Ray Serve runs an application until somebody deletes it, and a driver that is
killed deletes nothing. So each driver takes a lease on its engine. Leases are kept by one actor of
the cluster, the caretaker, which no driver owns. It learns of a driver's death by that of an actor
which the driver does own, and which Ray ends with it. The engine goes with its last lease: at once
if that was given back, after a while if its driver died, so that the next start of the same run
finds the model loaded. An engine that was started without a lease is nobody's to delete.

A caretaker that crashes is started anew by Ray, which then sends it the drivers' calls again.
"""

import asyncio
import secrets
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

NAMESPACE = "holdtrue"
NAME = "engine-caretaker-1"
"""Ends with the version of what it understands: drivers of several versions share a cluster."""
CONCURRENT_CALLS = 10_000


@dataclass
class _Engine:
    """What the caretaker knows of one application."""

    leases: set[str] = field(default_factory=set)
    is_managed: bool = False
    """Whether it was started under a lease."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while it is deleted: a lease that comes then comes for the next one."""


class Caretaker:
    """Keeps the leases of all engines of a cluster."""

    def __init__(self) -> None:
        self._engines: dict[str, _Engine] = {}

    async def hold(self, app: str, lease: str, driver: Any, starts: bool, grace_s: float) -> None:
        """Note a lease, and return when it has ended and what follows from that is done.

        Args:
            app: the application.
            lease: unlike any other.
            driver: actor that ends with the driver.
            starts: whether that driver starts the application.
            grace_s: how long the application is kept for the next driver if this one dies.
        """
        engine = self._engines.setdefault(app, _Engine())
        async with engine.changing:
            engine.leases.add(lease)
            engine.is_managed |= starts
        try:
            await driver.live.remote()
        except ray.exceptions.RayActorError:
            if lease in engine.leases:
                engine.leases.discard(lease)
                await asyncio.sleep(grace_s)
                await self._delete_unused(app, engine)

    async def has(self, app: str, lease: str) -> bool:
        """Tell whether a lease is noted; waits while the application is deleted."""
        engine = self._engines.setdefault(app, _Engine())
        async with engine.changing:
            return lease in engine.leases

    async def give_back(self, app: str, lease: str) -> None:
        """End a lease; return when the application is gone, if it was the last."""
        engine = self._engines.setdefault(app, _Engine())
        engine.leases.discard(lease)
        await self._delete_unused(app, engine)

    async def _delete_unused(self, app: str, engine: _Engine) -> None:
        from ray import serve as ray_serve

        async with engine.changing:
            if engine.is_managed and not engine.leases:
                await asyncio.to_thread(ray_serve.delete, app)
                engine.is_managed = False


class Driver:
    """Ends with the driver."""

    async def live(self) -> None:
        """Never return."""
        await asyncio.Event().wait()


@dataclass
class Lease:
    """A driver's right to its engine."""

    app: str
    grace_s: float
    _caretaker: Any
    _name: str = field(default_factory=lambda: secrets.token_hex(8))

    def start(self) -> None:
        """Say that this driver starts the application."""
        self._hold(starts=True)

    def end(self) -> None:
        """Give it back; waits until the application is gone, if this was the last lease."""
        ray.get(self._caretaker.give_back.remote(self.app, self._name))

    def _hold(self, *, starts: bool) -> None:
        driver = _driver(ray.get_runtime_context().get_job_id())
        self._caretaker.hold.remote(self.app, self._name, driver, starts, self.grace_s)
        # Calls of one caller begin in their order, so this one comes after the lease is noted.
        ray.get(self._caretaker.has.remote(self.app, self._name))


def take_lease(app: str, *, grace_s: float, joined: bool) -> Lease | None:
    """Take a lease on an application; it cannot be deleted by the caretaker from here on.

    Args:
        app: the application, which need not run yet.
        grace_s: how long it waits for the next driver if this one dies.
        joined: whether the cluster outlives this driver. If not, a lease is needed only where
            other drivers take some.
    """
    caretaker = _caretaker() if joined else _find_caretaker()
    if caretaker is None:
        return None
    lease = Lease(app, grace_s, caretaker)
    lease._hold(starts=False)
    return lease


def _caretaker() -> Any:
    # Beside Ray Serve's controller: a node that is removed takes neither along.
    make = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Caretaker)
    return make.options(
        name=NAME,
        namespace=NAMESPACE,
        lifetime="detached",
        get_if_exists=True,
        max_concurrency=CONCURRENT_CALLS,
        resources={"node:__internal_head__": 0.001},
    ).remote()


def _find_caretaker() -> Any | None:
    try:
        return ray.get_actor(NAME, namespace=NAMESPACE)
    except ValueError:
        return None


@cache
def _driver(_job: str) -> Any:
    """Return the actor that ends with this driver, which has one however many engines it uses."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    make = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Driver)
    return make.options(max_concurrency=CONCURRENT_CALLS, scheduling_strategy=here).remote()
