package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;

import kraftcheck.kafka.Effects;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.raft.generated.QuorumStateData;
import org.apache.kafka.server.common.KRaftVersion;

import java.nio.file.Path;
import java.util.Optional;

/** The quorum-state file, in the place of Kafka's {@link FileQuorumStateStore}: every write is an effect. */
final class QuorumStateInMemory implements QuorumStateStore {
    private final JsonNode found;
    private final Effects effects;

    /** {@code found}: the content that the process finds, null if there is no file. */
    QuorumStateInMemory(JsonNode found, Effects effects) {
        this.found = found;
        this.effects = effects;
    }

    @Override
    public Optional<ElectionState> readElectionState() {
        if (found.isNull()) return Optional.empty();
        return Optional.of(ElectionState.fromQuorumStateData(new QuorumStateData()
            .setLeaderId(found.get("leaderId").asInt())
            .setLeaderEpoch(found.get("leaderEpoch").asInt())
            .setVotedId(found.get("votedId").asInt())
            .setVotedDirectoryId(Uuid.fromString(found.get("votedDirectoryId").asText()))));
    }

    @Override
    public void writeElectionState(ElectionState latest, KRaftVersion version) {
        QuorumStateData data = latest.toQuorumStateData(version.quorumStateVersion());
        effects.add("persist").putObject("quorumState")
            .put("leaderId", data.leaderId())
            .put("leaderEpoch", data.leaderEpoch())
            .put("votedId", data.votedId())
            .put("votedDirectoryId", data.votedDirectoryId().toString());
    }

    @Override
    public Path path() {
        return Path.of("quorum-state");
    }

    @Override
    public void clear() { }
}
