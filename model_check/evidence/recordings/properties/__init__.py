"""A recorded run of a whole cluster, given to the judge of histories (:mod:`kraftcheck.evidence.history`).

The judge sees the recording alone: states, messages, log operations and writes of all nodes in their global
order, restarts included. The reference takes no part, so a run can agree with it step by step and still
violate a property.

:mod:`.judge` makes the one pass over a run; :mod:`.step` and :mod:`.states` turn each step into facts.
"""
