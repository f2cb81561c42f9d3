"""Comparison with TLC: it checks the modules of ``tla/``, and its results must equal those of the checker."""
