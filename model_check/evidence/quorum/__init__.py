"""Behaviours of a whole quorum played by real replicas: an adapter of the drive protocol for each replica.

``member`` is one replica, the reference's and the adapter's at once; ``network`` has the messages in flight
between them. ``beginning`` leads a quorum into the state in which a behaviour begins, ``quorum`` takes one of
its steps, and ``replay`` all of them. ``chosen`` finds the behaviours that a word names, ``report`` shows the
result.
"""
