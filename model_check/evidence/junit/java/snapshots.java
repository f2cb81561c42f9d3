    /** The snapshot that this replica has written last has the voter set that is committed below its end offset. */
    private void assertSnapshotHasCommittedVoters(Replica replica) {
        OffsetAndEpoch id = replica.log.latestSnapshotId().get();
        assertEquals(votersIn(committed.headMap(id.offset(), false)), votersInSnapshot(replica.log),
            "The snapshot " + id + " of replica " + replica.id + " has not the committed voters");
    }
