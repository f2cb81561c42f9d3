    private void assertVotersOfTheLog() throws Exception {
        for (Replica replica : replicas) {
            Optional<VoterSet> voters = votersIn(replica.log).or(() -> votersInSnapshot(replica.log));
            if (replica.client == null || voters.isEmpty()) continue;
            assertEquals(voters.get(), replica.voters(), "Replica " + replica.id
                + " acts by another voter set than the newest one in its log");
        }
    }
