"""The decision tables by name."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.query import change_requests
from kraftcheck.query import change_situations as changes
from kraftcheck.query import local_situations as local
from kraftcheck.query import response_situations as responses
from kraftcheck.query import situations as requests
from kraftcheck.query.tables import Table

#: The tables of elections and replication: their situations are put to implementations, too.
REPLICATION: Mapping[str, Table] = {
    table.name: table
    for table in (
        requests.VOTE_REQUEST,
        requests.PRE_VOTE_REQUEST,
        requests.BEGIN_QUORUM_EPOCH_REQUEST,
        requests.END_QUORUM_EPOCH_REQUEST,
        requests.FETCH_REQUEST,
        responses.VOTE_RESPONSE,
        responses.BEGIN_QUORUM_EPOCH_RESPONSE,
        responses.END_QUORUM_EPOCH_RESPONSE,
        responses.FETCH_RESPONSE,
        local.START,
        local.TIMER,
    )
}

TABLES: Mapping[str, Table] = {
    **REPLICATION,
    **{
        table.name: table
        for table in (
            change_requests.FETCH_SNAPSHOT_REQUEST,
            change_requests.ADD_RAFT_VOTER_REQUEST,
            change_requests.REMOVE_RAFT_VOTER_REQUEST,
            change_requests.UPDATE_RAFT_VOTER_REQUEST,
            changes.DESCRIBE_QUORUM_REQUEST,
            changes.FETCH_SNAPSHOT_RESPONSE,
            changes.ADD_RAFT_VOTER_RESPONSE,
            changes.REMOVE_RAFT_VOTER_RESPONSE,
            changes.UPDATE_RAFT_VOTER_RESPONSE,
            changes.API_VERSIONS_RESPONSE,
        )
    },
}
