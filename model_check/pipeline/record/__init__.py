"""Campaigns of recordings on a cluster: those of ``kraftcheck record``, each recording a task."""
