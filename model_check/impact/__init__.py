"""Which checks a change of the reference concerns, by what they executed, and whether one of them fails."""
