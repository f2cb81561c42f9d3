"""One judge of what replicas did, whether recordings or logs show it.

Recordings and logs are read into the same facts: a replica is in a state, it voted, it answered a vote
request, it appended, truncated, read a voter set, its high watermark moved. What a source does not show is
``NOT_SHOWN`` or ``None``, and what rests on it is not judged.

- ``facts``: the facts, and the violation of a property;
- ``checks``: every check with what it demands, and which log level or which part of a recording shows it;
- ``memory``: what binds a replica over restarts: epoch, vote, leader, leadership;
- ``progress``: what binds a process: high watermark, log end, voter sets, kraft.version;
- ``transitions``, ``votes``: changes of role and answers to vote requests;
- ``cluster``: replicas compared with each other by epochs and offsets;
- ``chain``, ``content``: what needs the records themselves: what was committed, and where it is.
"""
