    /** A majority of the voters that have committed last holds all of it, {@code durable}: on disk. */
    private void assertMajorityHoldsCommitted(boolean durable) {
        List<Disk> all = new ArrayList<>(lostDisks);
        replicas.forEach(replica -> all.add(new Disk(replica.key(), replica.log)));
        Set<Integer> holders = new TreeSet<>();
        for (ReplicaKey voter : committingVoters) {
            for (Disk disk : all) {
                boolean same = disk.key().id() == voter.id()
                    && (!voter.directoryId().isPresent() || voter.equals(disk.key()));
                if (same && holdsCommitted(disk.log(), durable)) holders.add(voter.id());
            }
        }
        assertTrue(2 * holders.size() > committingVoters.size(), "What epoch " + committedEpoch
            + " has committed (up to offset " + committed.lastKey() + ") is " + (durable ? "durable" : "in the log")
            + " only at " + holders + ", no majority of the voters " + committingVoters);
    }

    private boolean holdsCommitted(MockLog log, boolean durable) {
        long end = log.endOffset().offset();
        if (durable) end = Math.min(end, log.firstUnflushedOffset());
        return entries(log, end).entrySet().containsAll(committed.tailMap(log.startOffset()).entrySet());
    }
