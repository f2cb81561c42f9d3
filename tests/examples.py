"""How many examples random tests take."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_USUAL = 100


def examples(count: int) -> settings:
    """``count`` examples; with the profile ``nightly`` five times as many."""
    usual = settings.default.max_examples if settings.default else _USUAL
    return settings(max_examples=count * usual // _USUAL, suppress_health_check=list(HealthCheck))
