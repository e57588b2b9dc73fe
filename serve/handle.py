"""The Ray Serve side of the client."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from serve.bulk import Ask, BulkCaller, Reply
from serve.engine import Call


def handle_call(app: str, deployment: str, limit_s: float) -> Call:
    """Return a call that goes to some replica of a running application.

    Args:
        app: the application.
        deployment: its deployment of replicas.
        limit_s: seconds after which the replica gives a request up.
    """
    from ray import serve as ray_serve

    handle = ray_serve.get_deployment_handle(deployment, app_name=app).options(stream=True)

    async def stream(client: str, asks: Sequence[Ask]) -> AsyncIterator[list[Reply]]:
        response = handle.generate_many.remote(client, asks)
        try:
            async for replies in response:
                yield replies
        except asyncio.CancelledError:
            response.cancel()
            raise

    return BulkCaller(stream, limit_s).call


def transient_errors() -> tuple[type[Exception], ...]:
    """Return the errors that mean: no fault of this request, another replica may answer."""
    from ray import exceptions as ray_errors
    from ray.serve import exceptions as serve_errors

    return (
        ray_errors.RayActorError,
        ray_errors.WorkerCrashedError,
        ray_errors.NodeDiedError,
        ray_errors.OutOfMemoryError,
        # A replica that shuts down cancels what it still has; our own cancelling never gets here.
        ray_errors.TaskCancelledError,
        ray_errors.ObjectLostError,
        serve_errors.BackPressureError,
        serve_errors.DeploymentUnavailableError,
        serve_errors.ReplicaUnavailableError,
    )
