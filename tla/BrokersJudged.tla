----------------------------- MODULE BrokersJudged -----------------------------
(***************************************************************************)
(* What properties of brokers need to know of the past, and what single    *)
(* steps of the controller are judged by.                                  *)
(***************************************************************************)
EXTENDS BrokersProcess

CONSTANTS
    Judged,             \* the properties; what the history keeps depends on them
    ServesAtMost        \* for how many ticks a broker may serve that is inactive; None: not judged

(***************************************************************************)
(* The history (model_check/brokers/history.py): [lives, unanswered,       *)
(* inactive, serving, since].  lives: by broker id the largest incarnation *)
(* whose heartbeat was accepted.  unanswered: those whose last accepted    *)
(* heartbeat has an answer on its way.  inactive, serving: those that the  *)
(* controller holds to be inactive, and that serve; since: how many ticks  *)
(* ago they were declared inactive.  Each part is kept where something is  *)
(* judged that reads it.                                                   *)
(*                                                                         *)
(* Each operator yields [history, broken].                                 *)
(***************************************************************************)
KeepsLives == Judged \intersect {"IncarnationMonotone", "OneLiveIncarnation"} # {}
KeepsAnswers == "InactiveBeforeSelfFenced" \in Judged
KeepsTicks == ServesAtMost # None

Recorded(h, violated) == [history |-> h, broken |-> violated]
\* The controller has accepted a heartbeat.
Heard(h, id, life) ==
    LET before == IF id \in DOMAIN h.lives THEN h.lives[id] ELSE -1
        later == IF life > before THEN life ELSE before
        lives == [key \in DOMAIN h.lives \union {id} |-> IF key = id THEN later ELSE h.lives[key]]
    IN  Recorded([h EXCEPT !.lives = IF KeepsLives THEN lives ELSE @,
                           !.unanswered = IF KeepsAnswers THEN @ \union {id} ELSE @],
                 IF life < before THEN {"IncarnationMonotone", "OneLiveIncarnation"} ELSE {})

\* These brokers are visible from here on, and were not before, or the other way round.
Declared(h, before, after) ==
    LET gone == before \ after
        back == after \ before
        ids == (DOMAIN h.since \union gone) \ back
    IN  IF ~(KeepsTicks \/ KeepsAnswers) THEN h
        ELSE [h EXCEPT !.inactive = (@ \union gone) \ back,
                       !.since = [id \in ids |-> IF id \in gone THEN 0 ELSE @[id]]]

Answered(h, id) == [h EXCEPT !.unanswered = @ \ {id}]

\* A process begins to accept requests of clients, or ends; lonely: for want of the controller.
Served(h, id, serves, lonely) ==
    LET known == id \in h.inactive \union h.unanswered
        after == [h EXCEPT !.serving = IF serves THEN @ \union {id} ELSE @ \ {id}]
    IN  IF KeepsTicks \/ (lonely /\ KeepsAnswers)
        THEN Recorded(after, IF lonely /\ ~known THEN {"InactiveBeforeSelfFenced"} ELSE {})
        ELSE Recorded(h, {})

\* A tick is over.  Beyond the bound it does not matter by how much.
Passed(h) ==
    LET since == [id \in DOMAIN h.since |-> 1 + Least(h.since[id], ServesAtMost)]
    IN  IF ~KeepsTicks THEN Recorded(h, {})
        ELSE Recorded([h EXCEPT !.since = since],
                      IF \E id \in DOMAIN since \intersect h.serving : since[id] > ServesAtMost
                      THEN {"InactiveBrokerServesBriefly"} ELSE {})

(***************************************************************************)
(* What a step of the controller is judged by                              *)
(* (model_check/brokers/control_checks.py).                                *)
(***************************************************************************)
IsWellFormed(partition) ==
    /\ partition.isr # {}
    /\ partition.leader = None \/ partition.leader \in partition.isr
    /\ partition.isr \subseteq {Replicas[k] : k \in Ranks}

Unless(holds, property) == IF holds THEN {} ELSE {property}

ControllerBroken(before, after) ==
    Unless(after.partition = None \/ IsWellFormed(after.partition), "IsrWellFormed")
    \union Unless(\A id \in DOMAIN Metadata(after).brokers : StateOf(after, id) # "INACTIVE",
                  "InactiveBrokerIsInvisible")

HeartbeatBroken(before, request, after) ==
    LET known == before.brokers[request.broker].incarnation
    IN  Unless(known = None \/ request.incarnation >= known \/ after = before, "IncarnationMonotone")

IsrChangeBroken(before, node, request, answer) ==
    LET leads == /\ before.partition.leader = request.broker
                 /\ before.partition.leaderEpoch = request.leaderEpoch
        registered == /\ request.broker \in DOMAIN before.registrations
                      /\ before.registrations[request.broker] = request.incarnation
        refused == answer.error # "NONE" \/ answer.result # "NONE"
    IN  Unless(\/ before.partition = answer.c.partition
               \/ node = before.active /\ leads /\ registered, "IsrChangedByLeaderOnly")
        \union Unless(~refused \/ answer.c = before, "RejectedIsrChangeHasNoEffect")
================================================================================
