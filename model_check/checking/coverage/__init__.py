"""The coverage of explorations: actions, rules, guards, transitions, messages; and those that never occur."""
