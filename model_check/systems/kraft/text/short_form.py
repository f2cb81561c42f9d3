"""The short text form of replicas and events, for command lines, scenario files and reports.

A replica is its role and what differs from the defaults::

    follower epoch=5 leader=1 log=3@4,2@5 hw=4 voted=2

========================  ==========================================================================
``id=1``                  its id, with a directory ``1/dir``; default: the first voter that is not its leader
``voters=1,2,3``          the bootstrap voters
``epoch=5``               default: the last epoch of its log, at least 1
``log=3@4,2@5``           three records of epoch 4, then two of epoch 5 (`.log`)
``hw=4``                  high watermark; default: not known
``leader=1``              unattached, prospective, follower
``voted=2``               unattached, prospective, follower; a candidate has voted for itself
``endpoints=none``        prospective, follower: the leader's; default: ``CONTROLLER://node-<id>:9093``
``fetched``               follower: has fetched since it began to follow
``granted=1,2``           prospective, candidate; likewise ``rejected``; ``electorate``: the voters asked
``progress=2:5,3:-``      leader: end offsets of the voters, ``-`` where not known
``pending=opening,7,8``   leader: records accepted and not appended; default: ``opening`` if none of its epoch
``start=3``               leader: where its epoch starts; ``granting``, ``acked``, ``contacts``: voters
``resign-requested``      leader
``unacked=2,3``           resigned: voters not told yet; likewise ``successors``
``awaiting=2``            an answer is awaited from 2; with a correlation id ``2:17``
``backoff=3``             no request is sent to 3 for the time being
``parked=2:5``            a Fetch of 2 at offset 5 is waiting; with a correlation id ``2:5:17``
``shutting-down``         a graceful shutdown has begun
``broker``                the process has no controller role
========================  ==========================================================================

and ``cluster``, ``listens``, ``kraft``, ``max-kraft``, ``next-correlation``. An empty list is ``none``.

An event is its name and its fields; what is left out comes from the replica it happens to::

    vote-request from=2 epoch=6 last=4@2 pre-vote
    fetch-response from=1 records=2@5 hw=4
    poll expired=election,fetch discovery=2
    append 7,8

``last=4@2`` is a log that ends at offset 4 with a record of epoch 2. Responses carry ``error=NAME`` for the
partition and ``top-error=NAME`` for the whole. What the short form cannot express has a JSON form
(:mod:`kraftcheck.support.codec`); printing it here raises :class:`NoShortForm`. Reading anything that is not
in the form raises :class:`InputError <kraftcheck.support.errors.InputError>`, and nothing else.
"""

from __future__ import annotations

from kraftcheck.systems.kraft.text.describe import (
    describe_event,
    describe_replica,
    print_event,
    print_replica,
)
from kraftcheck.systems.kraft.text.event import parse_event
from kraftcheck.systems.kraft.text.replica import parse_replica
from kraftcheck.systems.kraft.text.words import NoShortForm

__all__ = [
    "NoShortForm",
    "describe_event",
    "describe_replica",
    "parse_event",
    "parse_replica",
    "print_event",
    "print_replica",
]
