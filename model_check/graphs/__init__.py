"""State graphs of small scenarios: folded, drawn, written to files, and asked about."""
