"""Fixtures of the engine tests."""
