"""What a replica does: pure functions over immutable values.

Read :mod:`kraftcheck.reference.step` first: ``step(protocol, replica, event) -> Outcome``. A replica is a
value (:mod:`kraftcheck.reference.replica`), an event is a value (:mod:`kraftcheck.reference.events`), and the
outcome says in which order the replica persists, appends, flushes and sends
(:mod:`kraftcheck.reference.effects`) and which rules of the catalogue decided it. There is no clock, no
randomness, no input or output and no global state here.
"""
