"""Running a scenario: verdicts, counterexamples, coverage, mutants, and results kept from run to run."""
