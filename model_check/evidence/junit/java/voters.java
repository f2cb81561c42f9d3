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
