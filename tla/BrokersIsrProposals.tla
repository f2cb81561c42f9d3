-------------------------- MODULE BrokersIsrProposals --------------------------
(***************************************************************************)
(* A leader that wants another ISR: whether it may ask, by what request,   *)
(* and until when the change is pending.  b.pending is [leaderEpoch,       *)
(* partitionEpoch, isr, refused]; with AlterPartition also lives: which    *)
(* life of each member is meant, -1: any.                                  *)
(*                                                                         *)
(* The reference: reference/brokers/isr_proposals.py, pending_isrs.py,     *)
(* isr_change.py, alter_partition.py.                                      *)
(***************************************************************************)
EXTENDS BrokersWork

\* The draft's has not heard that it is superseded; the shipped one is registered.      (ISR-3)
MayChangeIsrs(b) == IF IsDraft THEN ~b.superseded ELSE b.epoch >= 0

IsrRequest(b) ==
    IF IsDraft
    THEN [type |-> "IsrChangeRequest", broker |-> b.id, incarnation |-> b.incarnation,
          leaderEpoch |-> b.pending.leaderEpoch, isr |-> b.pending.isr]
    ELSE [type |-> "AlterPartitionRequest", broker |-> b.id, epoch |-> b.epoch,
          leaderEpoch |-> b.pending.leaderEpoch, partitionEpoch |-> b.pending.partitionEpoch,
          isr |-> b.pending.isr, lives |-> b.pending.lives]

\* Asks for what is pending.  One request is under way at a time.
AskForPending(b) ==
    IF ~MayChangeIsrs(b) \/ ~CanSend(b, "isr") THEN Work(b) ELSE SendRequest(Work(b), "isr", IsrRequest(b))

\* What a leader knows of the members when it first asks.
LivesOf(b, isr) ==
    [id \in isr |-> IF AlterPartitionVersion >= 3 /\ id \in DOMAIN b.visible THEN b.visible[id] ELSE -1]

\* The leader wants another ISR.                                                        (ISR-1, ISR-9)
ProposeIsr(b, isr) ==
    LET known == b.partition
        pending ==
            IF IsDraft
            THEN [leaderEpoch |-> known.leaderEpoch, partitionEpoch |-> known.partitionEpoch, isr |-> isr,
                  refused |-> FALSE]
            ELSE [leaderEpoch |-> known.leaderEpoch, partitionEpoch |-> known.partitionEpoch, isr |-> isr,
                  refused |-> FALSE, lives |-> LivesOf(b, isr)]
    IN  IF ~MayChangeIsrs(b) \/ ~CanSend(b, "isr") THEN Work(b)
        ELSE AskForPending([b EXCEPT !.pending = pending])

\* What is pending and was not refused is asked for again.                              (ISR-10, AISR-6)
MayAskAgain(b) == b.pending # None /\ MayChangeIsrs(b) /\ CanSend(b, "isr") /\ ~b.pending.refused

\* What metadata settles: another leader epoch, or what was asked for is in force; with
\* AlterPartition any newer partition epoch.                                            (ISR-10, AISR-6)
IsSettled(known, change) ==
    IF known = None THEN TRUE
    ELSE \/ known.leaderEpoch # change.leaderEpoch
         \/ known.partitionEpoch > change.partitionEpoch /\ (IsDraft => known.isr = change.isr)

\* The answer to IsrChange belongs to its request, so that nothing is settled while one is awaited.
Settle(b) ==
    IF b.pending = None \/ (IsDraft /\ "isr" \in b.awaiting) THEN b
    ELSE [b EXCEPT !.pending = IF IsSettled(b.partition, @) THEN None ELSE @]
================================================================================
