---------------------------- MODULE BrokersMutants -----------------------------
(***************************************************************************)
(* Mutants: operators of the draft with one guard removed.                 *)
(* tla/mutants.toml says which operator each takes the place of; the ids   *)
(* are those of model_check/mutants.toml.  The checker and TLC must refute *)
(* them alike.                                                             *)
(***************************************************************************)
EXTENDS Brokers

\* former-life-accepted
AnyLifeIsCurrent(c, id, incarnation) == TRUE

\* leader-of-an-earlier-epoch-changes-isrs
IsOfAnyEpoch(partition, leaderEpoch) == TRUE

\* any-proposal-is-an-isr
AnythingIsAnIsr(partition, isr) == TRUE

\* fenced-broker-serves
ClientIsServed(b) == [Work([b EXCEPT !.accepted = @ + 1]) EXCEPT !.accepts = TRUE]
================================================================================
