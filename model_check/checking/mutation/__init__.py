"""Mutation analysis of the specification: remove one guard of the reference and verify that the checker
notices.

A mutant is an edit of the reference's source, applied while a fresh interpreter imports it. This package
imports nothing of ``reference``, so that a worker process can first choose its source.
"""
