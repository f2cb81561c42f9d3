"""Driving an implementation of a KRaft replica: the reference computes the required steps, an adapter reports
the actual ones.

``docs/drive.md`` describes the protocol for authors of adapters. Here: ``stimuli`` (the events at a replica),
``asked`` (the reference under it: questions and expected answers), ``wire`` (both as JSON), ``process`` and
``session`` (the adapter), ``compare`` (expected and found), ``generate`` (traces that cover the rules),
``shrink``, ``report``, and ``adapter``, the reference behind the protocol.
"""
