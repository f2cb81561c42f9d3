"""Asking the specification: what a replica does on an event, by which rule, and whole decision tables."""
