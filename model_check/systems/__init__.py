"""The protocols as systems that the engine explores, and the scenarios that describe them."""
