"""Test vectors for other implementations: what is in them, how they are written and read."""
