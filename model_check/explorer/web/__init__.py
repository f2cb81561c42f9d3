"""The explorer in a browser: one page and a few questions about paths, on the loopback interface.

* :mod:`~kraftcheck.explorer.web.answers`: what the page can ask, and the answers;
* :mod:`~kraftcheck.explorer.web.guard`: who may ask;
* :mod:`~kraftcheck.explorer.web.server`: HTTP;
* ``explorer.js`` and ``explorer.css`` add to those of :mod:`kraftcheck.traces.page`.

The server keeps nothing about a reader: an answer depends on the path in the question alone. It is that of
the standard library: a page and five questions need no framework, and every installation has it.
"""
