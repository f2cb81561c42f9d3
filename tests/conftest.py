"""At night random tests take more examples (``--hypothesis-profile=nightly``), and no case is left out."""

import gc
from collections import Counter

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("day", deadline=None)
settings.load_profile("day")
settings.register_profile("nightly", max_examples=500, deadline=None)

# Modules, tests and caches live to the end: they are searched for garbage less often. Not `gc.freeze`: the
# functions in which it is noted what runs are those that `gc.get_objects` gives.
gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is marked ``one_in(n)`` the first case and every n-th after it are run by day."""
    cases = Counter[str]()
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is None or item.get_closest_marker("nightly") is not None:
            continue
        test = item.nodeid.partition("[")[0]
        if cases[test] % mark.args[0]:
            item.add_marker(pytest.mark.nightly)
        cases[test] += 1
