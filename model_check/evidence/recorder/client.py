"""The admin client of a simulated cluster: it asks for changes of the voter set."""

from __future__ import annotations

from abc import ABC

from kraftcheck.evidence.recorder.parts import ADMIN, Letter
from kraftcheck.evidence.recorder.processes import Processes
from kraftcheck.evidence.recordings.effects import content_shown
from kraftcheck.evidence.recordings.identity import endpoints_of
from kraftcheck.evidence.recordings.wire import VERSIONS, api_of
from kraftcheck.reference.messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from kraftcheck.reference.voters import ReplicaKey


class Client(Processes, ABC):
    """The processes of a cluster, and a client that asks them. The client is not a node."""

    def add_voter(self, id: int, to: int | None = None) -> None:
        """The client asks each leader, or the node ``to``, to make ``id`` a voter."""
        key = ReplicaKey(id, self.nodes[id].directory)
        self._ask(AddRaftVoterRequest(key, endpoints_of(id), cluster_id=self.config.cluster_id), to)

    def remove_voter(self, id: int | None, to: int | None = None) -> None:
        """The client asks each leader, or the node ``to``, to remove voter ``id``; ``None``: the leader."""
        for asked in self._asked(to):
            id = asked if id is None else id
            key = ReplicaKey(id, self.nodes[id].directory)
            self._ask(RemoveRaftVoterRequest(key, self.config.cluster_id), asked)

    def _asked(self, to: int | None) -> list[int]:
        return [process.node.id for process in self._leaders()] if to is None else [to]

    def _ask(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest, to: int | None) -> None:
        for asked in self._asked(to):
            mid, api = self._mid(), api_of(request)
            letter = Letter(
                mid=mid,
                source=ADMIN,
                to=asked,
                api=api,
                correlation=mid,
                content=request,
                data=content_shown(request),
                connection=ADMIN,
                owner=0,
                version=VERSIONS[api],
            )
            self.requests[mid] = letter
            self._post(letter)

    def _client_receives(self, letter: Letter) -> None:
        assert letter.request is not None
        self.open.pop(letter.mid, None)
        fields = {"from": letter.source, "mid": letter.mid, "re": letter.request.mid}
        self._line("adminResult", None, fields | {"api": letter.api, "data": letter.data})
