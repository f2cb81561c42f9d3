"""The site: ``docs/`` and the catalogues as linked pages for the browser, with search, without a network.

:mod:`~kraftcheck.site.build` makes it (``make docs``). :mod:`~kraftcheck.site.pages` has a function for each
kind of page that is generated, with a template in ``templates/``; :mod:`~kraftcheck.site.written` takes over
the pages that are written by hand. Zensical turns the Markdown of both into HTML.
"""
