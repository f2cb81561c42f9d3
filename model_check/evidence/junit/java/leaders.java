    // Leaders.

    /** By epoch the replicas that have led it. */
    private final Map<Integer, Set<Integer>> leaders = new TreeMap<>();

    private void observeLeader(Replica replica) {
        QuorumState quorum = replica.client.quorum();
        if (quorum.isLeader()) {
            leaders.computeIfAbsent(quorum.epoch(), epoch -> new TreeSet<>()).add(replica.id);
        }
    }

    private void assertOneLeaderPerEpoch() {
        leaders.forEach((epoch, ids) ->
            assertEquals(1, ids.size(), "Epoch " + epoch + " has had the leaders " + ids));
    }
