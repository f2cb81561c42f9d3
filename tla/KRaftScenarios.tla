---------------------------- MODULE KRaftScenarios -----------------------------
(***************************************************************************)
(* Values that a .cfg cannot write: what the administrator asks for, and   *)
(* states in which a scenario begins.                                      *)
(***************************************************************************)
EXTENDS KRaftVoterChanges

Add(voter) == [verb |-> "add", voter |-> voter]
Remove(voter) == [verb |-> "remove", voter |-> voter]

NoSteps == <<>>
Add2 == <<Add(2)>>
Add3Remove2 == <<Add(3), Remove(2)>>
Remove1 == <<Remove(1)>>
Remove1Remove3 == <<Remove(1), Remove(3)>>

VoterChangeOnly(id) == {"voter-change"}
================================================================================
