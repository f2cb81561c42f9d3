"""The commands of ``kraftcheck``, one module each."""
