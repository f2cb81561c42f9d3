    // Check quorum.

    /** What went wrong when a leader restarted its check-quorum timer. */
    private final List<String> wrongRestarts = new ArrayList<>();

    private static long untilCheckQuorum(Replica replica) {
        QuorumState quorum = replica.client.quorum();
        return quorum.isLeader()
            ? quorum.leaderStateOrThrow().timeUntilCheckQuorumExpires(replica.time.milliseconds())
            : 0;
    }

    /** After a request: a leader that has more time than before has heard from a majority since the last time. */
    private void observeCheckQuorum(Replica replica, ApiMessage request, long before) throws Exception {
        if (!replica.client.quorum().isLeader()) return;
        if (request instanceof FetchRequestData) {
            replica.heardFrom.add(((FetchRequestData) request).replicaState().replicaId());
        } else if (request instanceof FetchSnapshotRequestData) {
            replica.heardFrom.add(((FetchSnapshotRequestData) request).replicaId());
        }
        // A timer that had expired has the millisecond that poll() gives it.
        if (untilCheckQuorum(replica) <= Math.max(before, 1)) return;
        Set<Integer> voters = new TreeSet<>(replica.voters().voterIds());
        Set<Integer> heardFrom = new TreeSet<>(replica.heardFrom);
        heardFrom.add(replica.id);
        heardFrom.retainAll(voters);
        if (2 * heardFrom.size() <= voters.size()) {
            wrongRestarts.add("Leader " + replica.id + " of the voters " + voters
                + " has restarted its check-quorum timer, and since it did so before only " + heardFrom
                + " are voters that have fetched, or itself");
        }
        replica.heardFrom.clear();
    }

    private void assertCheckQuorumNeedsMajority() {
        assertEquals(List.of(), wrongRestarts, "A leader stays in office without a majority");
    }
