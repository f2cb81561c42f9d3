"""Records simulated clusters: seeded runs in the format of ``kraftcheck conform``.

:mod:`.simulation` is a cluster under a script: :mod:`.network` has its messages, :mod:`.processes` its
processes, :mod:`.client` the admin client. A replica is behind the interface of :mod:`.hosts`: it is the
reference, in this process, or an implementation behind an adapter (:mod:`.adapter_host`). :mod:`.schedule`
and :mod:`.profiles` say what happens to a cluster, :mod:`.campaign` records many of them.
"""
