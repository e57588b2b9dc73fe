"""How alike two texts are, by the metrics that the paper compares TOM with.

Every metric gives its best value to identical texts, also where its formula does not: BLEU of a
text of three words is 0 against itself, and CodeBLEU of a body of one line is .66.

A new metric is one line in ``METRICS``.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.code_bleu import code_bleu
from analysis.libraries import need
from conf import UserError

EXTRA = "metrics"
BERT_EXTRA = "bertscore"
BERT_MODEL = "roberta-large"

SPACES = ("nl", "pl")
PAIRS = pl.Schema(
    {
        "problem_id": pl.String,
        "sample": pl.Int32,
        "nl_reference": pl.String,
        "nl_prediction": pl.String,
        "pl_reference": pl.String,
        "pl_prediction": pl.String,
    }
)

Scorer = Callable[[Sequence[str], Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Metric:
    """One way to compare a prediction with its reference."""

    name: str
    best: float
    """Value of identical texts: the scale is 0 to ``best``."""
    spaces: tuple[str, ...]
    """Where it makes sense: ``nl`` (descriptions), ``pl`` (programs)."""
    open: Callable[[], Scorer]
    """Loads what it needs; the scorer takes references and predictions."""
    optional: bool = False
    """Left out unless asked for."""


def score_texts(pairs: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the pairs' keys and one column a metric.

    Args:
        pairs: schema ``PAIRS``; a metric of a missing text is null.
        names: columns to make, ``SPACE_METRIC``; null for all that are not optional.

    Raises:
        UserError: a name is unknown, or a library or model is missing.
    """
    columns = {name: (space, metric) for name, space, metric in _columns()}
    chosen = default_columns() if names is None else names
    for name in chosen:
        if name not in columns:
            raise UserError(f"text metric {name!r} is unknown; there are {', '.join(columns)}")
    return pairs.select(
        "problem_id",
        "sample",
        *(
            pl.Series(name, _score(columns[name][1], *_texts(pairs, columns[name][0])), pl.Float64)
            for name in chosen
        ),
    )


def default_columns() -> list[str]:
    """Return the columns that ``score_texts`` makes unasked."""
    return [name for name, _, metric in _columns() if not metric.optional]


def _columns() -> Iterator[tuple[str, str, Metric]]:
    for space in SPACES:
        for metric in METRICS:
            if space in metric.spaces:
                yield f"{space}_{metric.name}", space, metric


def _texts(pairs: pl.DataFrame, space: str) -> tuple[list[str | None], list[str | None]]:
    return pairs[f"{space}_reference"].to_list(), pairs[f"{space}_prediction"].to_list()


def _score(
    metric: Metric, references: list[str | None], predictions: list[str | None]
) -> list[float | None]:
    """Score the pairs that differ; the others are the best by definition or undefined."""
    values: list[float | None] = [None] * len(references)
    open_pairs: list[tuple[int, str, str]] = []
    for row, (reference, prediction) in enumerate(zip(references, predictions, strict=True)):
        if reference is None or prediction is None:
            continue
        if reference == prediction:
            values[row] = metric.best
        else:
            open_pairs.append((row, reference, prediction))
    if open_pairs:
        rows, *texts = zip(*open_pairs, strict=True)
        for row, value in zip(rows, metric.open()(*texts), strict=True):
            values[row] = value
    return values


def _each(score: Callable[[str, str], float]) -> Scorer:
    return lambda references, predictions: list(map(score, references, predictions))


def _exact_match() -> Scorer:
    return _each(lambda reference, prediction: float(reference == prediction))


def _bleu() -> Scorer:
    """BLEU-4 (Papineni et al., ACL 2002) with 13a tokens and no smoothing, as the paper has it."""
    bleu = need("sacrebleu.metrics", extra=EXTRA).BLEU(smooth_method="none", tokenize="13a")
    return _each(lambda reference, prediction: _corpus_of_one(bleu, reference, prediction) / 100)


def _chrf() -> Scorer:
    """Character 6-grams, beta 2, spaces left out (chrF, Popovic, WMT 2015)."""
    chrf = need("sacrebleu.metrics", extra=EXTRA).CHRF()
    return _each(lambda reference, prediction: _corpus_of_one(chrf, reference, prediction))


def _corpus_of_one(metric: Any, reference: str, prediction: str) -> float:
    return float(metric.corpus_score([prediction], [[reference]]).score)


def _rouge_l() -> Scorer:
    """ROUGE-L (Lin, ACL 2004): F of the longest common subsequence of words, no stemming."""
    rouge = need("rouge_score.rouge_scorer", extra=EXTRA).RougeScorer(["rougeL"])
    return _each(
        lambda reference, prediction: rouge.score(reference, prediction)["rougeL"].fmeasure
    )


def _code_bleu() -> Scorer:
    return _each(lambda reference, prediction: code_bleu(reference, prediction).score)


def _code_bleu_package() -> Scorer:
    return _each(lambda reference, prediction: code_bleu(reference, prediction).package_score)


def _bert_score() -> Scorer:
    """BERTScore F1 (arXiv 1904.09675), from contextual embeddings of the words."""
    package = need("bert_score", extra=BERT_EXTRA)
    try:
        scorer = package.BERTScorer(model_type=BERT_MODEL, lang="en")
    except OSError as error:
        raise UserError(
            f"BERTScore needs the weights of {BERT_MODEL}: {error}; download them once, or leave "
            "the metric out"
        ) from error

    def score(references: Sequence[str], predictions: Sequence[str]) -> Sequence[float]:
        _, _, f1 = scorer.score(list(predictions), list(references))
        return [float(value) for value in f1]

    return score


METRICS = (
    Metric("exact_match", 1.0, SPACES, _exact_match),
    Metric("bleu", 1.0, SPACES, _bleu),
    Metric("chrf", 100.0, SPACES, _chrf),
    Metric("rouge_l", 1.0, SPACES, _rouge_l),
    Metric("codebleu", 1.0, ("pl",), _code_bleu),
    Metric("codebleu_package", 1.0, ("pl",), _code_bleu_package),
    Metric("bert_score", 1.0, ("nl",), _bert_score, optional=True),
)
