"""Logs of fleets of controllers, read and checked on Spark, a task for each cluster."""
