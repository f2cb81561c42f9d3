"""How a quorum comes into being: formatting a directory, and what a process is before its first step.

A formatted directory has an id, the cluster's id and, for dynamic voters, the bootstrap checkpoint (0-0):
a snapshot at offset 0 of epoch 0 that holds a kraft.version and the first voter set. It is no part of the
log; ``Replica.bootstrap_voters`` and ``Replica.bootstrap_kraft_version`` are its content.

Source: KIP-853 (Bootstrapping); Kafka: StorageTool, Formatter, KafkaRaftClient (constructor, initialize),
RequestManager.findReadyBootstrapServer.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.config import BOOTSTRAP_SERVERS, VOTERS, Config, Problem, parse_voter, problems
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import Directory, InSequence, KRaftLevel, Name, ReplicaId
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set

#: Bootstrap servers have ids of their own, from here downwards, so that a request to one shares no
#: connection with a voter on the same host.
FIRST_SERVER = -2


class FirstVoters(Enum):
    """The option of the format tool for the first voters (``--standalone`` …); ``CONFIGURED``: none."""

    CONFIGURED = "none of the three"
    STANDALONE = "--standalone"
    INITIAL_CONTROLLERS = "--initial-controllers"
    NO_INITIAL_CONTROLLERS = "--no-initial-controllers"


class FormattedDirectory(Frozen):
    """A metadata directory after formatting; ``rules``: what decided.

    ``voters`` are those of the bootstrap checkpoint; ``None``: there is none, which means kraft.version 0
    until the log says otherwise.
    """

    cluster_id: Name
    directory: Directory
    voters: VoterSet | None = None
    kraft_version: KRaftLevel = 0
    rules: InSequence[Name] = ()


def format_directory(
    config: Config,
    cluster_id: str,
    directory: str,
    first: FirstVoters,
    initial: VoterSet | None = None,
    endpoints: tuple[Endpoint, ...] = (),
) -> FormattedDirectory | Problem:
    """Format a metadata directory, or say why not.

    ``directory`` is a fresh directory id (ID-7). ``initial`` is the list of ``--initial-controllers``: a node
    that is on it takes its directory id from there; one that is not gets the same checkpoint and starts as
    observer. ``endpoints`` are where a standalone controller listens.
    """
    problem = _format_problem(config, first)
    if problem is not None:
        return problem
    if first is FirstVoters.STANDALONE:
        own = Voter(ReplicaKey(config.node_id, directory), endpoints, 0, 1)
        return FormattedDirectory(cluster_id, directory, voter_set([own]), 1, ("BOOT-5", "BOOT-6", "ID-7"))
    if first is FirstVoters.INITIAL_CONTROLLERS and initial is not None:
        listed = initial.find(config.node_id)
        taken = directory if listed is None or listed.key.directory is None else listed.key.directory
        return FormattedDirectory(cluster_id, taken, initial, 1, ("BOOT-5", "BOOT-7"))
    rule = "BOOT-8" if first is FirstVoters.NO_INITIAL_CONTROLLERS else "BOOT-3"
    return FormattedDirectory(cluster_id, directory, rules=(rule, "ID-7"))


def _format_problem(config: Config, first: FirstVoters) -> Problem | None:
    chooses = first in (FirstVoters.STANDALONE, FirstVoters.INITIAL_CONTROLLERS)
    if config.voters and chooses:
        return Problem(VOTERS, f"and {first.value} exclude each other; use {BOOTSTRAP_SERVERS}", "BOOT-5")
    if config.is_controller and not config.voters and first is FirstVoters.CONFIGURED:
        return Problem(VOTERS, "is not set, so the first voters must be given", "BOOT-5")
    return None


def replica_of(
    config: Config,
    formatted: FormattedDirectory | None,
    endpoints: tuple[Endpoint, ...] = (),
    max_kraft_version: int = 1,
) -> Replica | Problem:
    """What a process is by configuration and formatting, for :func:`kraftcheck.reference.step.start`; or why
    it does not start. ``formatted`` is ``None`` for a directory that is not formatted.

    Voters come from the checkpoint, else from static configuration; bootstrap servers give none.
    """
    if formatted is None:
        return Problem(
            "metadata.log.dir", "is not formatted; a blank one could take part in no vote", "BOOT-9"
        )
    wrong = problems(config)
    if wrong:
        return wrong[0]
    return Replica(
        key=ReplicaKey(config.node_id, formatted.directory),
        bootstrap_voters=static_voters_of(config) if formatted.voters is None else formatted.voters,
        bootstrap_kraft_version=formatted.kraft_version,
        endpoints=endpoints if config.is_controller else (),
        can_become_voter=config.is_controller,
        auto_join=config.auto_join,
        max_kraft_version=max_kraft_version,
        cluster_id=formatted.cluster_id,
    )


def static_voters_of(config: Config) -> VoterSet:
    """The voters of static configuration: ids and endpoints, no directories (BOOT-3). Entries that are no
    voters are left out; :func:`kraftcheck.reference.config.problems` names them.
    """
    parsed = dict(entry for entry in map(parse_voter, config.voters) if entry is not None)
    return voter_set(Voter(ReplicaKey(node), (endpoint,)) for node, endpoint in parsed.items())


# Looking for the leader.


class Servers(Frozen):
    """The nodes that a replica without leader may ask, by the ids of their connections; and the rules."""

    ids: InSequence[ReplicaId]
    rules: InSequence[Name]


def servers_of(config: Config) -> Servers:
    """Whom to ask for the leader: bootstrap servers under ids -2, -3, …, in the order of the configuration;
    without any, the static voters under their own ids.
    """
    if config.bootstrap_servers:
        count = len(config.bootstrap_servers)
        return Servers(tuple(FIRST_SERVER - index for index in range(count)), ("BOOT-4", "CONFIG-1"))
    return Servers(static_voters_of(config).ids, ("BOOT-3", "CONFIG-2"))


def ready_servers(replica: Replica, servers: Servers) -> Servers:
    """The servers of which :class:`kraftcheck.reference.events.Poll` may name one: nothing is awaited from
    anybody, and the server is not left alone after a failure. Kafka draws one of them.
    """
    if any(connection.awaiting for connection in replica.connections):
        return Servers((), ("FETCH-33",))
    avoided = {connection.node for connection in replica.connections}
    return Servers(tuple(node for node in servers.ids if node not in avoided), ("BOOT-13", "FETCH-33"))
