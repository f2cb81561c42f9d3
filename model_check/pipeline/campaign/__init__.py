"""Campaigns: many explorations of scenarios, protocol variants, mutants and bounds, spread over a cluster."""
