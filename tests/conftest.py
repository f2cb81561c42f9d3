"""At night random tests take more examples: ``--hypothesis-profile=nightly``."""

import gc

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("day", deadline=None)
settings.load_profile("day")
settings.register_profile("nightly", max_examples=500, deadline=None)

# Modules, tests and caches live to the end: they are searched for garbage less often. Not `gc.freeze`: the
# functions in which it is noted what runs are those that `gc.get_objects` gives.
gc.set_threshold(20_000, 20, 20)
