"""What ties the proofs to the reference as the checker explores it."""
