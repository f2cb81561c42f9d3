"""What explorations exercise: actions, rules, guards, transitions, messages; and what never happens."""
