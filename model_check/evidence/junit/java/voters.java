    // Voter sets.

    /** The voter set of the last {@code KRAFT_VOTERS} record among these. */
    private static Optional<VoterSet> votersIn(NavigableMap<Long, Entry> entries) {
        return entries.descendingMap().values().stream()
            .filter(each -> each.shown().equals(ControlRecordType.KRAFT_VOTERS.name()))
            .map(each -> VoterSet.fromVotersRecord(
                ControlRecordUtils.deserializeVotersRecord(each.record().value().duplicate())))
            .findFirst();
    }

    private static Optional<VoterSet> votersIn(MockLog log) {
        return votersIn(entries(log, log.endOffset().offset()));
    }

//? votersInSnapshot
    /** The voter set in the newest snapshot of a log. */
    private static Optional<VoterSet> votersInSnapshot(MockLog log) {
        Optional<VoterSet> voters = Optional.empty();
        if (!log.latestSnapshot().isPresent()) return voters;
        for (Record record : log.latestSnapshot().get().records().records()) {
            if (record.hasKey() && ControlRecordType.parse(record.key()) == ControlRecordType.KRAFT_VOTERS) {
                voters = Optional.of(
                    VoterSet.fromVotersRecord(ControlRecordUtils.deserializeVotersRecord(record.value())));
            }
        }
        return voters;
    }
//.
