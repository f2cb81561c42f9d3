----------------------------- MODULE BrokersHistory -----------------------------
(***************************************************************************)
(* What properties of brokers need to know of the past.                    *)
(***************************************************************************)
EXTENDS BrokersForms

CONSTANTS
    Judged,             \* the properties; what the history keeps depends on them
    ServesAtMost        \* for how many ticks a broker may serve that is inactive; None: not judged

(***************************************************************************)
(* The history (model_check/brokers/history.py): [lives, unanswered,       *)
(* inactive, serving, since].  lives: by broker id the largest incarnation *)
(* id or broker epoch whose heartbeat was accepted.  unanswered: those     *)
(* whose last accepted heartbeat has an answer on its way.  inactive,      *)
(* serving: those that the controller holds to be inactive or fenced, and  *)
(* that serve; since: how many ticks ago they were declared so.  Each part *)
(* is kept where something is judged that reads it.                        *)
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
    IN  Recorded([h EXCEPT !.lives = IF KeepsLives THEN Put(@, id, later) ELSE @,
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
================================================================================
