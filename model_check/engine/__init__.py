"""The explicit-state model checking engine. It knows nothing of KRaft.

The interface is :mod:`kraftcheck.engine.system`.
"""
