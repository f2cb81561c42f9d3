-------------------------------- MODULE Toy --------------------------------
(* Two counters and a bag, to try the runner and the parsers on: 16 states. *)
EXTENDS Integers, Sequences, TLC

CONSTANTS None, Most

VARIABLES left, right

Init == left = <<>> /\ right = [count |-> 0, seen |-> None, bag |-> <<>>]

Longer == Len(left) < Most /\ left' = Append(left, {Len(left), -1}) /\ UNCHANGED right

More ==
    /\ right.count < Most
    /\ right' = [count |-> right.count + 1, seen |-> "a \"b\" \\",
                 bag |-> ([type |-> "x", n |-> right.count] :> 1 @@ [type |-> "y", n |-> -1] :> 2)]
    /\ UNCHANGED left

Next == Longer \/ More

Small == right.count < 2
Whatever == TRUE
============================================================================
