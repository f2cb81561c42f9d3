"""Compares recorded runs of Kafka with the reference, step by step.

:mod:`.recording` reads a run, :mod:`.wire` translates its messages, :mod:`.clock` keeps Kafka's timers,
:mod:`.lockstep` feeds each node's events to the reference and compares, :mod:`.report` sums up.
"""
