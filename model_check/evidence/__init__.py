"""What was seen outside the checker, held against the reference: recordings, adapters, logs."""
