"""Bounds that grow by themselves: scenarios are widened, and their violations sorted by cause."""
