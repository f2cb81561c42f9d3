"""At night random tests take more examples: ``--hypothesis-profile=nightly``."""

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("day", deadline=None)
settings.load_profile("day")
settings.register_profile("nightly", max_examples=500, deadline=None)
