"""The explorer: from any state of a scenario, what can happen next, what cannot and why, and what holds.

Everything is a function of a path, the options taken from the beginning on; the address of the page is such
a path.

* :mod:`~kraftcheck.explorer.start`: where it begins: a scenario, a trace, or replicas in the short form;
* :mod:`~kraftcheck.explorer.ground`: the scenario's system, walked along paths;
* :mod:`~kraftcheck.explorer.events`: what can happen next; :mod:`~kraftcheck.explorer.refusals`: what cannot,
  and why; :mod:`~kraftcheck.explorer.judged`: what holds; :mod:`~kraftcheck.explorer.here`: all of it;
* :mod:`~kraftcheck.explorer.continuing`: the checker, from here;
* :mod:`~kraftcheck.explorer.saving`: a path as a file;
* :mod:`~kraftcheck.explorer.web`: the page and its server.
"""
