    // What is committed.

    /** A record of a log. */
    private record Entry(int epoch, SimpleRecord record, String shown) {
        @Override
        public String toString() {
            return shown + " of epoch " + epoch;
        }
    }

    /** By offset the record that was committed first, and what was committed in its place later. */
    private final NavigableMap<Long, Entry> committed = new TreeMap<>();
    private final Set<String> conflicts = new TreeSet<>();
    /** The epoch of the leader that has committed last, and the newest voters in its log then. */
    private int committedEpoch = 0;
    private Set<ReplicaKey> committingVoters = Set.of();

    private void observeCommits(Replica replica) throws Exception {
        long highWatermark = Math.min(
            replica.client.highWatermark().orElse(0), replica.log.endOffset().offset());
        long before = committed.isEmpty() ? 0 : committed.lastKey() + 1;
        entries(replica.log, highWatermark).forEach((offset, entry) -> {
            Entry known = committed.putIfAbsent(offset, entry);
            if (known != null && !known.equals(entry)) {
                conflicts.add("Replica " + replica.id + " has committed " + entry + " at offset " + offset
                    + ", where " + known + " was committed before");
            }
        });
        if (replica.client.quorum().isLeader() && highWatermark > before) {
            committedEpoch = replica.client.quorum().epoch();
            committingVoters = votersIn(replica.log).orElse(replica.voters()).voterKeys();
        }
    }

    /** The records of a log below {@code end}, by offset. */
    private static NavigableMap<Long, Entry> entries(MockLog log, long end) {
        NavigableMap<Long, Entry> entries = new TreeMap<>();
        if (log.startOffset() >= end) return entries;
        for (RecordBatch batch : recordsOf(log, log.startOffset(), end).batches()) {
            for (Record each : batch) {
                String kind = batch.isControlBatch()
                    ? ControlRecordType.parse(each.key()).name()
                    : "record '" + Utils.utf8(each.value()) + "'";
                entries.put(each.offset(), new Entry(batch.partitionLeaderEpoch(), new SimpleRecord(each), kind));
            }
        }
        return entries;
    }

    private void assertNothingElseCommitted() {
        assertEquals(Set.of(), conflicts, "Records that were committed have been replaced");
    }
