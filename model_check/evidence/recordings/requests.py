"""The requests of the processes of a recorded run, found again by the correlation ids of their answers."""

from __future__ import annotations

from kraftcheck.evidence.recordings.lines import Sent
from kraftcheck.evidence.recordings.recording import Message


class Requests:
    """Message ids by node and correlation id, of the process that runs on each node."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], int] = {}
        self._unseen: dict[int, list[Sent]] = {}

    def start(self, node: int) -> None:
        """A process starts, which has sent nothing yet."""
        self._sent = {key: mid for key, mid in self._sent.items() if key[0] != node}
        self._unseen[node] = []

    def send(self, node: int, sent: Sent, content: Message | None) -> None:
        """``node`` sends a request; its correlation id is shown with its content, if any line shows that."""
        if content is None:
            self._unseen.setdefault(node, []).append(sent)
        else:
            self._sent[node, content.correlation] = sent.mid

    def find(self, node: int, correlation: int) -> int | None:
        """The message id of the request of ``node`` with this correlation id."""
        return self._sent.get((node, correlation))

    def answered(self, node: int, answer: Message) -> int | None:
        """The request that ``answer`` is for: by its correlation id, else one whose content no line shows."""
        known = self.find(node, answer.correlation)
        if known is not None:
            return known
        for sent in self._unseen.get(node, ()):
            if (sent.api, sent.destination) == (answer.api, answer.source):
                self._unseen[node].remove(sent)
                self._sent[node, answer.correlation] = sent.mid
                return sent.mid
        return None
