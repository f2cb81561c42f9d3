"""The explicit-state model checking engine. It knows nothing of KRaft: see :mod:`model_check.engine.system`."""
