"""Proofs for any number of replicas, epochs and records: a transition system, its invariants, and Z3."""
