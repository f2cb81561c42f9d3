"""Kafka's log files: the state history of each node rebuilt from text, and judged.

``reader.read_logs`` is the entry: it takes files and folders and returns a report. The path of a line:
``sources`` finds and orders the files, ``scan`` picks the lines that matter out of large chunks, ``layout``
takes the conversion pattern apart, ``messages`` and ``states`` turn a message into a fact, ``node`` gives the
facts of one node to the judge (:mod:`kraftcheck.evidence.history`), which also compares the nodes.
"""
