"""Benchmarks: `python -m tests.benchmarks` makes corpora, runs the product beside its limits and prints ratios."""
