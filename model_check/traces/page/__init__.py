"""A trace as one HTML file: lanes and arrows, next to the state, effects and rules of each step.

:mod:`~kraftcheck.traces.page.document` says what the page shows, :mod:`~kraftcheck.traces.page.html` makes
the file; ``behaviour.js``, ``viewer.js``, ``overview.js`` and ``viewer.css`` go into it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.traces.model import Trace
from kraftcheck.traces.page.document import document_of
from kraftcheck.traces.page.html import page


def page_of(trace: Trace, about: Iterable[str] = ()) -> str:
    """``trace`` as an HTML file, with paragraphs ``about`` it after that of its scenario."""
    return page(document_of(trace, about))
