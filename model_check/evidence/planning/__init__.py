"""The shortest order of operations that leads a quorum to other voters, each step judged by the checker.

The search is over what an operator does; how replicas behave is asked of the reference, with faults, for
every step (:mod:`~kraftcheck.evidence.planning.judging`).
"""
