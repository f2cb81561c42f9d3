----------------------------- MODULE BrokersHistory -----------------------------
(***************************************************************************)
(* What properties of brokers need to know of the past.                    *)
(***************************************************************************)
EXTENDS BrokersForms

CONSTANTS
    Judged,             \* the properties; what the history keeps depends on them
    ServesAtMost        \* for how many ticks a broker may serve that is inactive; None: not judged

(***************************************************************************)
(* The history (model_check/systems/brokers/history.py): [lives, unanswered,       *)
(* serving, since].  lives: by broker id the largest incarnation id or     *)
(* broker epoch whose heartbeat was accepted.  The rest is about processes *)
(* that run, by incarnation id, as two of them may have one broker id.     *)
(* unanswered: those whose last accepted heartbeat has an answer on its    *)
(* way.  serving: those that serve; since: how many ticks ago the          *)
(* controller gave one up.  Each part is kept where something is judged    *)
(* that reads it.  The checker's running and held follow from the state.   *)
(*                                                                         *)
(* Each operator that judges yields [history, broken], the others yield    *)
(* the history.                                                            *)
(***************************************************************************)
KeepsLives == Judged \intersect {"IncarnationMonotone", "OneLiveIncarnation"} # {}
KeepsAnswers == "InactiveBeforeSelfFenced" \in Judged
KeepsTicks == ServesAtMost # None

Recorded(h, violated) == [history |-> h, broken |-> violated]

\* The controller has accepted a heartbeat of this life of a broker, from this process.
Heard(h, id, life, process, running) ==
    LET before == IF id \in DOMAIN h.lives THEN h.lives[id] ELSE -1
        later == IF life > before THEN life ELSE before
        unanswered == IF KeepsAnswers THEN h.unanswered \union ({process} \intersect running) ELSE h.unanswered
    IN  Recorded([h EXCEPT !.lives = IF KeepsLives THEN Put(@, id, later) ELSE @, !.unanswered = unanswered],
                 IF life < before THEN {"IncarnationMonotone", "OneLiveIncarnation"} ELSE {})

\* The controller held these processes to be active, and now holds those.
Declared(h, before, after, running) ==
    LET gone == (before \ after) \intersect running
        ids == (DOMAIN h.since \union gone) \ (after \ before)
    IN  IF ~KeepsTicks THEN h
        ELSE [h EXCEPT !.since = [process \in ids |-> IF process \in gone THEN 0 ELSE @[process]]]

Answered(h, process) == [h EXCEPT !.unanswered = @ \ {process}]

\* A process is gone, in order or by a crash.
Ended(h, process) ==
    [h EXCEPT !.unanswered = @ \ {process}, !.serving = @ \ {process},
              !.since = [other \in DOMAIN @ \ {process} |-> @[other]]]

\* A process begins to accept requests of clients, or ends; lonely: for want of the controller.
Served(h, process, held, serves, lonely) ==
    LET known == process \notin held \/ process \in h.unanswered
        serving == IF serves THEN h.serving \union {process} ELSE h.serving \ {process}
    IN  Recorded([h EXCEPT !.serving = IF KeepsTicks THEN serving ELSE @],
                 IF lonely /\ ~known THEN {"InactiveBeforeSelfFenced"} ELSE {})

\* A tick is over.  Beyond the bound it does not matter by how much.
Passed(h) ==
    LET since == [process \in DOMAIN h.since |-> 1 + Least(h.since[process], ServesAtMost)]
    IN  IF ~KeepsTicks THEN Recorded(h, {})
        ELSE Recorded([h EXCEPT !.since = since],
                      IF \E process \in DOMAIN since \intersect h.serving : since[process] > ServesAtMost
                      THEN {"InactiveBrokerServesBriefly"} ELSE {})
================================================================================
