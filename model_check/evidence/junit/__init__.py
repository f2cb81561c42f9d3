"""A counterexample as a failing JUnit test of Apache Kafka: one file for the tests of its raft module.

``happenings`` plays the counterexample and notes the events at each replica, ``statements`` writes each as a
statement of the test, with ``messages`` and ``disks``; ``judges`` has the assertion for each property, and
``program`` puts the file together. The parts in Java that every test shares stand in ``java/``.
"""
