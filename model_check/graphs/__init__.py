"""State graphs of small scenarios: projected, drawn, written to files, and asked about."""
