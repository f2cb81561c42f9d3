"""Breadth-first exploration on Spark, with the tables and the kernels of the native engine.

The answer is that of :func:`kraftcheck.engine.explorer.explore`: states of a level are numbered by (number
of the state they were first reached from, order of the steps there), of candidates with the same fingerprint
the first in this order wins, and a violation is the first of its level in the same order.

* :mod:`.search`: the driver: level after level, what was found, how far it has come;
* :mod:`.in_driver`: levels that the driver explores by itself;
* :mod:`.level`: one level on Spark;
* :mod:`.tasks`: what executors do with a chunk of states;
* :mod:`.cut`: a level, cut into parts and chunks;
* :mod:`.mirror`: the tables of the driver, in executors;
* :mod:`.kernels`: duplicates, and states that were visited;
* :mod:`.store`: the folder of a run: levels, fingerprints, and how far it has come;
* :mod:`.files`: small files in that folder.
"""
