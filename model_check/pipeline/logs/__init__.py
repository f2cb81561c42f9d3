"""Logs of fleets of controllers, read and checked on Spark.

``files`` finds the files and whose they are, ``plan`` orders them, ``scan`` reads each node's files in an
executor with the code of `kraftcheck.evidence.logs`, ``compare`` holds nodes against each other, ``report``
says it.
"""
