"""Apache Kafka itself as an implementation: its raft classes behind the drive protocol.

The adapter is written in Java (``java/``), compiled against the Kafka that a user names, and kept in the
user's cache. Kafka's classes stay as they are.
"""
