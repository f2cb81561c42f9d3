"""The properties of the checker, judged on a recorded run of a whole cluster.

What is judged is the recording alone: states, messages, log operations and writes of all nodes in their
global order, restarts included. The reference takes no part, so a run can agree with it step by step and
still violate a property.

:mod:`.judge` makes the one pass over a run; :mod:`.view` turns lines into typed values; :mod:`.chain` keeps
logs so that common prefixes are shared; the other modules judge one group of properties each.
"""
