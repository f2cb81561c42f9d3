package org.apache.kafka.raft;

import kraftcheck.kafka.Effects;
import kraftcheck.kafka.Json;

import org.apache.kafka.snapshot.SnapshotReader;

/** A state machine that reads all that it is given, reports it and keeps nothing. */
final class CommittedReader implements RaftClient.Listener<Long> {
    private final Effects effects;

    CommittedReader(Effects effects) {
        this.effects = effects;
    }

    @Override
    public void handleCommit(BatchReader<Long> reader) {
        try (reader) {
            while (reader.hasNext()) {
                Batch<Long> batch = reader.next();
                var values = Json.list();
                batch.records().forEach(values::add);
                effects.add("giveRecords").put("base", batch.baseOffset()).put("last", batch.lastOffset())
                    .set("values", values);
            }
        }
    }

    @Override
    public void handleLoadSnapshot(SnapshotReader<Long> reader) {
        try (reader) {
            long end = reader.lastContainedLogOffset() + 1;
            int epoch = reader.lastContainedLogEpoch();
            while (reader.hasNext()) reader.next();
            // The checkpoint of a new cluster, before its first record, stands for configuration.
            if (end > 0) {
                effects.add("giveSnapshot").putObject("snapshotId").put("endOffset", end).put("epoch", epoch);
            }
        }
    }

    /** Releases before 4.3 have no such method. */
    public void handleLoadBootstrap(SnapshotReader<Long> reader) {
        handleLoadSnapshot(reader);
    }

    @Override
    public void handleLeaderChange(LeaderAndEpoch leader) {
        effects.add("giveLeader").put("leader", leader.leaderId().orElse(-1)).put("epoch", leader.epoch());
    }
}
