"""Brokers and their controller as a system for the engine: run by the reference, with faults and time."""
