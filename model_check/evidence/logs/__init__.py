"""Production log files: the state history of each node rebuilt from text, and checked.

``reader.read_logs`` is the entry: it takes files and folders and returns a report. The way of a line:
``sources`` finds and orders the files, ``scan`` picks the lines that matter out of large chunks, ``layout``
takes the conversion pattern apart, ``messages`` and ``states`` turn a message into a fact, ``node`` applies
the facts of one node to what is known of it and judges them, ``cluster`` compares the nodes.
"""
