"""The short form: replicas, events and effects as one line of text, written and read."""
