"""Conformance vectors: steps of the reference, as files that an implementation in any language can read."""
