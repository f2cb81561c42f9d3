"""The short form of replicas, events and effects (``docs/short-form.md``), and the fields of a replica."""

from kraftcheck.systems.kraft.text.disk import DiskText, parse_disk, print_disk
from kraftcheck.systems.kraft.text.effects import describe_effect
from kraftcheck.systems.kraft.text.event import describe_event, describe_message, parse_event, print_event
from kraftcheck.systems.kraft.text.replica import describe_replica, parse_replica, print_replica

__all__ = [
    "DiskText",
    "describe_effect",
    "describe_event",
    "describe_message",
    "describe_replica",
    "parse_disk",
    "parse_event",
    "parse_replica",
    "print_disk",
    "print_event",
    "print_replica",
]
