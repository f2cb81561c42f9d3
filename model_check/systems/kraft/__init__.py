"""KRaft as a system for the engine: replicas run by the reference, their network, faults and properties."""
