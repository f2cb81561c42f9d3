    private void assertVotersOfTheLog() throws Exception {
        for (Replica replica : replicas) {
            Optional<VoterSet> voters = votersIn(replica.log);
            if (!voters.isPresent()) voters = votersInSnapshot(replica.log);
            if (replica.client == null || !voters.isPresent()) continue;
            assertEquals(voters.get(), replica.voters(), "Replica " + replica.id
                + " acts by another voter set than the newest one in its log");
        }
    }
