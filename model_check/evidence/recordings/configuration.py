"""The first line of a recorded run: the cluster, its timeouts and its nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.config import Times
from kraftcheck.support.errors import InputError


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A node of the cluster as the run began.

    clock_offset (ms), clock_drift (ms per ms): how its clock departs from the global time; ``None`` where
    its clock is the global time.
    """

    id: int
    directory: str
    initial_voter: bool
    can_become_voter: bool
    clock_offset: int | None = None
    clock_drift: float | None = None

    @property
    def is_skewed(self) -> bool:
        """Whether the node has a clock of its own."""
        return self.clock_offset is not None or self.clock_drift is not None

    def local_times(self, time: int) -> tuple[int, int]:
        """The readings of the node's clock at ``time``, rounded before and after the offset is added.

        They differ only where the fraction is within an error of floating point of a whole number.
        """
        drift, offset = self.clock_drift or 0.0, self.clock_offset or 0
        return time + math.floor(time * drift) + offset, math.floor(time * (1 + drift)) + offset


@dataclass(frozen=True, slots=True)
class Config:
    """The first line of a trace. ``labels`` describe the run: scenario, seed, level of the log files.

    fetch_max_wait (ms): how long a Fetch may wait at the leader.
    """

    cluster_id: str
    initial_kraft_version: int
    times: Times
    fetch_max_wait: int
    nodes: tuple[NodeConfig, ...]
    auto_join: bool
    labels: Fields

    def node(self, id: int) -> NodeConfig | None:
        """The node of this id, if there is one."""
        return next((node for node in self.nodes if node.id == id), None)


def config_of(fields: Fields) -> Config:
    """Read the configuration. Raises InputError where a field is missing or of the wrong type."""
    timeouts = fields.inner("timeouts")
    times = Times(
        election_timeout=_time(timeouts, "controller.quorum.election.timeout.ms"),
        fetch_timeout=_time(timeouts, "controller.quorum.fetch.timeout.ms"),
        election_backoff_max=_time(timeouts, "controller.quorum.election.backoff.max.ms"),
        append_linger=_time(timeouts, "controller.quorum.append.linger.ms"),
        request_timeout=_time(timeouts, "controller.quorum.request.timeout.ms"),
        retry_backoff=_time(timeouts, "controller.quorum.retry.backoff.ms"),
    )
    fetch_max_wait = _time(timeouts, "fetchMaxWaitMs")
    version = fields.number("initialKraftVersion")
    if version not in (0, 1):
        raise InputError(f"{fields.where}: field 'initialKraftVersion' must be 0 or 1, found {version}.")
    nodes = tuple(_node(node) for node in fields.objects("nodes"))
    if not nodes or len({node.id for node in nodes}) != len(nodes):
        raise InputError(f"{fields.where}: field 'nodes' must name each node once.")
    return Config(
        fields.text("clusterId"),
        version,
        times,
        fetch_max_wait,
        nodes,
        timeouts.flag("controller.quorum.auto.join.enable", False),
        fields,
    )


def _time(timeouts: Fields, key: str) -> int:
    value = timeouts.number(key)
    if not 0 <= value < 2**31:
        raise InputError(f"{timeouts.where}: field '{key}' must be a time in ms, found {value}.")
    return value


def _node(fields: Fields) -> NodeConfig:
    return NodeConfig(
        fields.number("id"),
        fields.text("dirId"),
        fields.flag("initialVoter"),
        fields.flag("canBecomeVoter"),
        fields.number("clockOffsetMs") if "clockOffsetMs" in fields else None,
        fields.fraction("clockDrift") if "clockDrift" in fields else None,
    )
