"""Running a scenario: verdicts, counterexamples, coverage, mutants, and what is kept from run to run."""
