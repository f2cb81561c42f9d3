    private void assertVotersOfTheLog() throws Exception {
        for (Replica replica : replicas) {
            if (replica.client == null || votersIn(replica.log).isEmpty()) continue;
            assertEquals(votersIn(replica.log).get(), replica.voters(), "Replica " + replica.id
                + " acts by another voter set than the newest one in its log");
        }
    }
