"""The Ray Serve side of the client."""

import asyncio

from serve.engine import Call
from serve.messages import Answer, Prompt, Sampling


def handle_call(app: str, deployment: str) -> Call:
    """Return a call that goes to some replica of a running application."""
    from ray import serve as ray_serve

    handle = ray_serve.get_deployment_handle(deployment, app_name=app)

    async def call(request_id: str, prompt: Prompt, sampling: Sampling) -> Answer:
        response = handle.generate.remote(request_id, prompt, sampling)
        try:
            answer: Answer = await response
        except asyncio.CancelledError:
            response.cancel()
            raise
        return answer

    return call


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
