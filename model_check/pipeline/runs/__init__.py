"""Lockstep conformance over directories of recorded runs, a task for each run."""
