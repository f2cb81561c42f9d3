"""One judge of the history of replicas, for recordings and for logs.

Recordings and logs are read into the same facts: a replica is in a state, it voted, it answered a vote
request, it appended, truncated, read a voter set, its high watermark moved. A value that the source does
not show is ``NOT_SHOWN`` or ``None``, and no check rests on it.

- ``facts``: the facts, and the violation of a property;
- ``checks``: every check, its demand, and the log level or the part of a recording that shows it;
- ``memory``: epoch, vote and leader of a replica, which bind it over restarts;
- ``progress``: high watermark, log end, voter sets and kraft.version of a process;
- ``transitions``, ``votes``: changes of role and answers to vote requests;
- ``cluster``: replicas compared with each other by epochs and offsets;
- ``replica``, ``chain``, ``records``, ``fetches``: checks that need whole states and records, which only
  recordings show.
"""
