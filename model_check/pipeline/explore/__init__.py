"""Breadth-first exploration on Spark, with the tables and the kernels of the native engine.

The answer is that of :func:`kraftcheck.engine.explorer.explore`: states of a level are numbered by (number
of the state they were first reached from, order of the steps there), of candidates with the same fingerprint
the first in this order wins, and a violation is the first of its level in the same order.

``search`` is the driver, which explores small levels by itself and has ``level`` expand the others on Spark,
with ``tasks`` in executors. ``store`` is the folder of a run, ``pieces`` the rows of its data sets.
"""
