"""How far sampled programs can be trusted: features, models, metrics; polars and scikit-learn."""
