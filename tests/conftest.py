"""At night random tests take more examples: ``--hypothesis-profile=nightly``."""

import gc

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("day", deadline=None)
settings.load_profile("day")
settings.register_profile("nightly", max_examples=500, deadline=None)


def pytest_collection_finish() -> None:
    """Modules and tests live to the end: they are not searched for garbage again and again."""
    gc.freeze()
    gc.set_threshold(20_000)
