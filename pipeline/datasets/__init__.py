"""Problems in: data sets from packages and from files, as one table of schema ``PROBLEM``."""

from pipeline.datasets.registry import DatasetFacts, dataset_facts, load_problems

__all__ = ["DatasetFacts", "dataset_facts", "load_problems"]
