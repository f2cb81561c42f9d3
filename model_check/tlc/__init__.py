"""TLC beside the checker: runs it on the modules of ``tla/`` and holds what it finds against what we find."""
