------------------------------- MODULE KRaftLog -------------------------------
(***************************************************************************)
(* The replicated log.                                                     *)
(*                                                                         *)
(* A log is a sequence of batches [base |-> offset of the first record,    *)
(* epoch |-> of the leader that appended it, records |-> <<...>>].         *)
(* Offsets count records from 0; an end offset is one past the last        *)
(* record.  Batches are appended, fetched and truncated whole.  Snapshots  *)
(* are left out, so that every log starts at offset 0.                     *)
(*                                                                         *)
(* Records:                                                                *)
(*   [type |-> "LeaderChange", leader |-> id, voters |-> set of ids]       *)
(*   [type |-> "Value", value |-> id of the leader that appended it]       *)
(*   [type |-> "KRaftVersion", version |-> 1]     (voter changes only)     *)
(*   [type |-> "Voters", voters |-> set of ids]   (voter changes only)     *)
(*                                                                         *)
(* The reference: reference/log.py.                                        *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y
Last(s) == s[Len(s)]

RECURSIVE Ascending(_)
Ascending(S) == IF S = {} THEN <<>> ELSE <<Min(S)>> \o Ascending(S \ {Min(S)})

BatchEnd(batch) == batch.base + Len(batch.records)
EndOffset(log) == IF log = <<>> THEN 0 ELSE BatchEnd(Last(log))
LastEpoch(log) == IF log = <<>> THEN 0 ELSE Last(log).epoch

\* The batches that end at or before an offset.
Below(log, offset) == SelectSeq(log, LAMBDA batch : BatchEnd(batch) <= offset)

\* What a Fetch at this offset is given, uncommitted batches included.
BatchesFrom(log, offset) == SelectSeq(log, LAMBDA batch : BatchEnd(batch) > offset)

Truncated(log, offset) == Below(log, offset)

\* The largest epoch of the log that is not larger than this one, and where it ends; if all its
\* epochs are larger, that is this epoch itself, ending where the log starts.
EndOfEpoch(log, epoch) ==
    LET larger == {k \in 1..Len(log) : log[k].epoch > epoch}
    IN  IF larger = {}
        THEN [epoch |-> LastEpoch(log), offset |-> EndOffset(log)]
        ELSE LET k == Min(larger)
             IN  [epoch |-> IF k = 1 THEN epoch ELSE log[k - 1].epoch, offset |-> log[k].base]

\* FETCH-8: whether a log that ends at this offset with a record of this epoch is a prefix of ours.
IsValidPosition(log, offset, epoch) ==
    LET end == EndOfEpoch(log, epoch)
    IN  offset = 0 \/ (end.epoch = epoch /\ end.offset >= offset)

\* FETCH-24: how much of the log may agree with a leader whose end of an epoch is this.
TruncationOffset(log, leaderEnd) ==
    LET own == EndOfEpoch(log, leaderEnd.epoch)
    IN  IF leaderEnd.epoch = 0 THEN Min({leaderEnd.offset, EndOffset(log)})
        ELSE IF own.epoch = leaderEnd.epoch THEN Min({own.offset, leaderEnd.offset})
        ELSE own.offset

\* DEF-6: a log that ends like this is at least as up to date as ours: epoch first, then offset.
IsUpToDate(lastEpoch, endOffset, log) ==
    \/ lastEpoch > LastEpoch(log)
    \/ lastEpoch = LastEpoch(log) /\ endOffset >= EndOffset(log)

IsPrefix(one, other) == Len(one) <= Len(other) /\ \A k \in 1..Len(one) : one[k] = other[k]
===============================================================================
