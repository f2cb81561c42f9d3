"""Driving an implementation of a KRaft replica: the reference says what must happen, an adapter what does.

``docs/drive.md`` describes the protocol for those who write an adapter. Here: ``stimuli`` (what happens to a
replica), ``asked`` (the reference under it: questions and expected answers), ``wire`` (both as JSON),
``process`` and ``session`` (the adapter), ``compare`` (expected and found), ``generate`` (traces that cover
the rules), ``shrink``, ``report``, and ``adapter``, the reference behind the protocol.
"""
