"""Gradient-boosted trees as plain numbers that can be kept in a file and read without trust.

scikit-learn grows them; what it offers for keeping them is to pickle them, and a pickle can run any
code when it is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from analysis.trust.linear import sigmoid

Vector = npt.NDArray[np.float64]
GROWING = {
    "learning_rate": 0.05,
    "max_iter": 100,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 200,
    "l2_regularization": 10.0,
    "early_stopping": False,
}
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Tree:
    """One tree; an entry a node, the root first. A leaf is its own child."""

    feature: tuple[int, ...]
    threshold: tuple[float, ...]
    """At most this goes left."""
    missing_left: tuple[bool, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]
    """Log-odds that a leaf adds."""

    def score(self, matrix: Vector) -> Vector:
        """Return what the tree adds to the log-odds of each row."""
        feature, threshold = np.array(self.feature), np.array(self.threshold)
        missing_left, left, right = map(np.array, (self.missing_left, self.left, self.right))
        rows = np.arange(len(matrix))
        node = np.zeros(len(matrix), dtype=np.int64)
        for _ in self.feature:  # a path is no longer than the tree has nodes
            given = matrix[rows, feature[node]]
            goes_left = np.where(np.isnan(given), missing_left[node], given <= threshold[node])
            following = np.where(goes_left, left[node], right[node])
            if (following == node).all():
                break
            node = following
        score: Vector = np.array(self.value)[node]
        return score


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees whose scores add up."""

    bias: float
    trees: tuple[Tree, ...]

    def probability(self, matrix: Vector) -> Vector:
        """Return the probability of each row; a missing feature is NaN."""
        score = np.full(len(matrix), self.bias)
        for tree in self.trees:
            score += tree.score(matrix)
        return sigmoid(score)


def grow_forest(matrix: Vector, right: Sequence[bool], *, seed: int) -> Forest:
    """Grow trees that tell right from wrong.

    Args:
        matrix: rows x features, NaN where missing.
        right: label of each row; both kinds must be there.
        seed: of the growing.
    """
    grown = HistGradientBoostingClassifier(**GROWING, random_state=seed)
    # Threads that wait for each other stall where other work fills the cores.
    with threadpool_limits(1):
        grown.fit(matrix, np.asarray(right))
    trees = tuple(_tree(predictors[0].nodes) for predictors in grown._predictors)
    return Forest(float(grown._baseline_prediction.ravel()[0]), trees)


def _tree(nodes: npt.NDArray[np.void]) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    own = np.arange(len(nodes))
    # An infinite threshold parts the known from the missing; JSON has no infinity.
    threshold = np.where(leaf, 0.0, np.minimum(nodes["num_threshold"], _LARGEST))
    return Tree(
        feature=tuple(np.where(leaf, 0, nodes["feature_idx"]).astype(int).tolist()),
        threshold=tuple(threshold.tolist()),
        missing_left=tuple(nodes["missing_go_to_left"].astype(bool).tolist()),
        left=tuple(np.where(leaf, own, nodes["left"]).astype(int).tolist()),
        right=tuple(np.where(leaf, own, nodes["right"]).astype(int).tolist()),
        value=tuple(nodes["value"].astype(float).tolist()),
    )
