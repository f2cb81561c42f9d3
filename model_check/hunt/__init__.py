"""Bounds that grow by themselves: scenarios are widened step by step, and what they violate is sorted by cause."""
