"""What a broker process and the controller do: which brokers are alive, and who changes an ISR.

Two forms of one idea: the controller heartbeat of KIP-343, a draft, and what shipped (KIP-631, KIP-497,
KIP-841, KIP-903). The entry point is :func:`kraftcheck.reference.brokers.step.step`.
"""
