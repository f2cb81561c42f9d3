---------------------------- MODULE BrokersMutants -----------------------------
(***************************************************************************)
(* Mutants: operators of the draft with one guard removed.                 *)
(* tla/mutants.toml says which operator each takes the place of; the ids   *)
(* are those of model_check/mutants.toml.  The checker and TLC must refute *)
(* them alike.                                                             *)
(***************************************************************************)
EXTENDS Brokers

\* former-incarnation-accepted
AnyLifeIsCurrent(c, id, incarnation) == TRUE

\* isr-change-of-any-leader-epoch
IsOfAnyEpoch(partition, leaderEpoch) == TRUE

\* any-proposal-is-an-isr
AnythingIsAnIsr(partition, isr) == TRUE

\* fenced-broker-serves
ClientIsServed(b) == [Work([b EXCEPT !.accepted = @ + 1]) EXCEPT !.accepts = TRUE]
================================================================================
