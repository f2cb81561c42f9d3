"""Driving an implementation of a KRaft replica: the reference computes the required steps, an adapter reports
the actual ones.

``docs/drive.md`` describes the protocol for authors of adapters. ``generate`` (with ``extract``), ``probes``,
``scripts`` and ``files`` give sequences of ``stimuli``; ``situations`` finds the path into a state. ``asked``
puts the stimuli to the reference, ``session`` to the adapter, by the lines of ``wire`` and ``answers``.
``compare`` compares both, ``report`` shows the result. ``serving`` and ``adapter`` are the reference behind
the protocol.
"""
