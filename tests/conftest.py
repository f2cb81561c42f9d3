"""At night random tests take more examples: ``--hypothesis-profile=nightly``."""

from hypothesis import settings

settings.register_profile("nightly", max_examples=500, deadline=None)
