"""Measuring the engine: rates, ratios and bytes on one scenario, all taken in one run on one machine."""
