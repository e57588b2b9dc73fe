"""How many requests a run's engine works on, and how many wait for it."""

from conf.schema import RunConfig

IN_FLIGHT_PER_SLOT = 4
"""Of these one is in the batch; the others wait for it, or travel there and back."""


def batch_size(config: RunConfig) -> int:
    """Return the requests that all replicas together work on at the same time."""
    is_fake = config.serve.backend == "fake"
    batch = config.serve.fake_batch_limit if is_fake else config.engine.max_num_seqs
    return config.engine.replicas * batch


def most_in_flight(config: RunConfig) -> int:
    """Return the requests that one caller has in flight at most."""
    return config.serve.max_in_flight or IN_FLIGHT_PER_SLOT * batch_size(config)
