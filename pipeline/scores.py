"""The scores of the chain job for a configuration."""

from analysis import ChainMetrics, RunTables, chain_metrics
from conf import RunConfig

PASS_AT = (1, 2, 5, 10, 20, 50, 100)


def score_run(tables: RunTables, config: RunConfig) -> ChainMetrics:
    """Return a run's scores, at all of its steps.

    Args:
        tables: the run.
        config: what the run was started with.

    Raises:
        UserError: the tables contradict each other.
    """
    chain = config.chain
    # Nobody wrote program 0 of a chain that starts from code, so whether it passes is no score.
    ks = tuple(k for k in PASS_AT if k <= chain.samples and chain.start == "text")
    return chain_metrics(tables, chain.length, ks=ks, seed=config.seed)
