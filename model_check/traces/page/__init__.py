"""A trace as one HTML file: lanes and arrows, next to the state, effects and rules of each step.

:mod:`~kraftcheck.traces.page.document` says what the page shows, :mod:`~kraftcheck.traces.page.html` makes
the file; ``behaviour.js``, ``viewer.js``, ``overview.js`` and ``viewer.css`` go into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kraftcheck.traces.model import Trace
from kraftcheck.traces.page.document import NO_FAULTS, document_of
from kraftcheck.traces.page.html import page


def page_of(trace: Trace, about: Iterable[str] = (), faults: Mapping[int, str] = NO_FAULTS) -> str:
    """``trace`` as an HTML file, with paragraphs ``about`` it after that of its scenario. ``faults``: by the
    number of a step the id of the rule that is at fault there.
    """
    return page(document_of(trace, about, faults=faults))
