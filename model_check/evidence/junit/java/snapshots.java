    /** The snapshot that this replica has written last has the voter set that is committed below its end offset. */
    private void assertSnapshotHasCommittedVoters(Replica replica) {
        RawSnapshotReader snapshot = replica.log.latestSnapshot().get();
        Optional<VoterSet> voters = Optional.empty();
        for (Record record : ((Records) snapshot.records()).records()) {
            if (record.hasKey() && ControlRecordType.parse(record.key()) == ControlRecordType.KRAFT_VOTERS) {
                voters = Optional.of(
                    VoterSet.fromVotersRecord(ControlRecordUtils.deserializeVotersRecord(record.value())));
            }
        }
        assertEquals(votersIn(committed.headMap(snapshot.snapshotId().offset(), false)), voters,
            "The snapshot " + snapshot.snapshotId() + " of replica " + replica.id + " has not the committed voters");
    }
