--------------------------- MODULE BrokersLeadership ---------------------------
(***************************************************************************)
(* The one partition: its leader and ISR change with its brokers, without  *)
(* a request of a leader.  In both forms of the protocol: the draft        *)
(* (KIP-343) and what shipped (KIP-631).                                   *)
(*                                                                         *)
(* There is one value c for all controller nodes: c.active is the node     *)
(* that is the controller, c.epoch grows with every failover.  What else   *)
(* it has: BrokersDraftController, BrokersShippedController.  c.partition  *)
(* is [leader, leaderEpoch, partitionEpoch, isr], or None.                 *)
(*                                                                         *)
(* The reference: reference/brokers/leadership.py, views.py.               *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    None,                   \* no broker, node, incarnation, time-out, bound
    Form,                   \* "draft" or "shipped"
    Ids,                    \* broker ids
    Replicas,               \* the brokers of the one partition in order of preference; <<>>: there is none
    ControllerTimeout,      \* in ticks of the controller's clock; None: untimed, an event of its own
    AlterPartitionVersion   \* of the requests that leaders send, 0 to 3 (AISR-4)

ASSUME Form \in {"draft", "shipped"}

IsDraft == Form = "draft"
Ranks == 1..Len(Replicas)

Smallest(S) == CHOOSE x \in S : \A y \in S : x <= y
Least(a, b) == IF a < b THEN a ELSE b

\* The function f with another value, or without one.
Put(f, key, value) == [k \in DOMAIN f \union {key} |-> IF k = key THEN value ELSE f[k]]
Without(f, key) == [k \in DOMAIN f \ {key} |-> f[k]]

\* Neither inactive or fenced, nor on its way out.
CanLead(c, id) ==
    IF IsDraft THEN c.brokers[id].state = "ACTIVE"
    ELSE /\ id \in DOMAIN c.registrations
         /\ ~c.registrations[id].fenced
         /\ ~c.registrations[id].inControlledShutdown

\* One record of the metadata log in the form that shipped.
WritePartition(c, partition) ==
    LET written == [c EXCEPT !.partition = [partition EXCEPT !.partitionEpoch = @ + 1]]
    IN  IF IsDraft THEN written ELSE [written EXCEPT !.endOffset = @ + 1]

ChangeLeader(c, isr, leader) ==
    WritePartition(c, [c.partition EXCEPT !.isr = isr, !.leader = leader, !.leaderEpoch = @ + 1])

\* The first replica in the ISR that can lead, of those that are not excluded.
Elect(c, isr, excluded) ==
    LET able == {k \in Ranks : /\ Replicas[k] \in isr
                               /\ Replicas[k] \notin excluded
                               /\ CanLead(c, Replicas[k])}
    IN  IF able = {} THEN None ELSE Replicas[Smallest(able)]

\* A broker can lead nothing any more, and leaves an ISR that has others.
Leave(c, id, leavesIsr) ==
    LET isr == IF leavesIsr /\ Cardinality(c.partition.isr) > 1 THEN c.partition.isr \ {id}
               ELSE c.partition.isr
    IN  IF c.partition = None THEN c
        ELSE IF c.partition.leader = id THEN ChangeLeader(c, isr, Elect(c, isr, {id}))
        ELSE IF isr # c.partition.isr THEN WritePartition(c, [c.partition EXCEPT !.isr = isr])
        ELSE c

\* A broker is active or unfenced again: it leads what has it in its ISR and has no leader.    (HBK-7)
Come(c, id) ==
    IF c.partition # None /\ c.partition.leader = None /\ id \in c.partition.isr
    THEN ChangeLeader(c, c.partition.isr, id)
    ELSE c

\* Whether an ISR has replicas of the partition, and its leader among them.            (ISR-6, AISR-3)
IsIsr(partition, isr) ==
    partition.leader \in isr /\ isr \subseteq {Replicas[k] : k \in Ranks}
================================================================================
