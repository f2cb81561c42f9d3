---------------------------- MODULE BrokersMutants -----------------------------
(***************************************************************************)
(* Mutants: operators with one guard removed, of the draft and of what     *)
(* shipped.  tla/mutants.toml says which operator each takes the place of; *)
(* the ids are those of model_check/checking/mutation/mutants_brokers.toml.  The checker and *)
(* TLC must refute them alike.                                             *)
(***************************************************************************)
EXTENDS Brokers

(***************************************************************************)
(* The draft.                                                              *)
(***************************************************************************)
\* former-life-accepted
AnyLifeIsCurrent(c, id, incarnation) == TRUE

\* leader-of-an-earlier-epoch-changes-isrs
IsOfAnyEpoch(partition, leaderEpoch) == TRUE

\* any-proposal-is-an-isr
AnythingIsAnIsr(partition, isr) == TRUE

\* fenced-broker-serves
ClientIsServed(b) == [Work([b EXCEPT !.accepted = @ + 1]) EXCEPT !.accepts = TRUE]

\* stopping-broker-leaves-what-it-leads
ProceedAtOnce(b) ==
    IF b.target = "STOPPING" /\ b.state = "STOPPING" THEN [b EXCEPT !.target = "INACTIVE"] ELSE b

\* given-up-heartbeat-counts-on
KeepTimes(b, apis) == b

\* ends-with-accepted-requests
EndAtOnce(w) == IF IsLetGo(w.b) THEN [w EXCEPT !.b = Gone(@), !.stops = TRUE] ELSE w

(***************************************************************************)
(* What shipped.                                                           *)
(***************************************************************************)
\* newcomer-displaces-a-session
NobodyHasTakenIt(c, id, incarnation) == FALSE

\* broker-epoch-stays
FormerEpoch(c, id) == IF id \in DOMAIN c.registrations THEN c.registrations[id].epoch ELSE c.endOffset

\* unfenced-by-any-heartbeat
UnfencedByAny(c, request) == IF request.wantShutDown THEN "SHUTDOWN_NOW" ELSE "UNFENCED"

\* fenced-broker-keeps-leaderships
FenceWithoutLeaving(c, id) ==
    IF id \notin UnfencedIds(c) THEN c
    ELSE AppendRegistration(c, id, [c.registrations[id] EXCEPT !.fenced = TRUE])

\* session-without-the-offset
SessionWithoutOffset(session, request) == [session EXCEPT !.ticks = 0]

\* controlled-shutdown-waits-for-nobody
NobodyHasToRead(c, offset) == TRUE

\* leading-broker-shuts-down-at-once
ShutDownAtOnce(c, request) ==
    IF request.wantFence THEN IF request.wantShutDown THEN "SHUTDOWN_NOW" ELSE "FENCED"
    ELSE IF request.wantShutDown THEN "SHUTDOWN_NOW" ELSE "UNFENCED"

\* controlled-shutdown-is-not-written
ShutdownWithoutRecord(c, id) == Leave(c, id, TRUE)

\* leaving-broker-may-be-chosen
UnfencedCanLead(c, id) == IF id \in DOMAIN c.registrations THEN ~c.registrations[id].fenced ELSE FALSE

\* sessions-survive-a-failover
TakeOverWithSessions(c, node) == [c EXCEPT !.active = node, !.epoch = @ + 1]

\* stops-with-any-answer
StopsWithAnyAnswer(b, response) ==
    CASE b.life = "STARTING" /\ response.caughtUp -> Work([b EXCEPT !.life = "RECOVERY"])
      [] b.life = "RECOVERY" /\ ~response.fenced -> Work([b EXCEPT !.life = "RUNNING"])
      [] b.life = "PENDING_CONTROLLED_SHUTDOWN" -> EndIfDone(Work([b EXCEPT !.life = "SHUTTING_DOWN"]))
      [] OTHER -> Work(b)

\* let-go-and-serves
ServesOnceRunning(b) ==
    IF b = None THEN FALSE ELSE ~b.ended /\ b.life \notin {"STARTING", "RECOVERY"}

\* broker-epoch-is-not-compared
IsRegisteredAtAll(c, id, epoch) == id \in DOMAIN c.registrations

\* any-node-alters-partitions
ErrorOfTheSenderAlone(c, node, request) ==
    IF ~IsCurrentEpoch(c, request.broker, request.epoch) THEN "STALE_BROKER_EPOCH" ELSE "NONE"

\* fenced-member-joins
MeantLifeIsEligible(c, id, life) == life = -1 \/ IsCurrentEpoch(c, id, life)

\* former-life-joins
AnyLifeIsEligible(c, id, life) == CanLead(c, id)
================================================================================
