    /** A leader of the epoch of the last commit, or of a later one, has everything that is committed. */
    private void assertLeadersHaveAllCommitted() {
        for (Replica replica : replicas) {
            if (replica.client == null || !replica.client.quorum().isLeader()) continue;
            int epoch = replica.client.quorum().epoch();
            if (epoch < committedEpoch) continue;
            Map<Long, Entry> own = entries(replica.log, replica.log.endOffset().offset());
            committed.tailMap(replica.log.startOffset()).forEach((offset, entry) ->
                assertEquals(entry, own.get(offset), "Replica " + replica.id + " leads epoch " + epoch
                    + " without the record that epoch " + committedEpoch + " has committed at offset " + offset));
        }
    }
