package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import kraftcheck.kafka.Json;
import kraftcheck.kafka.Private;

import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;
import org.apache.kafka.snapshot.RawSnapshotWriter;

import java.util.Comparator;
import java.util.Optional;
import java.util.TreeMap;

/** The state of a process as the protocol shows it: {@link QuorumState}, its role, the voter set and the log. */
final class ShownState {
    private final KafkaRaftClient<?> client;
    private final MemoryLog log;
    private final QuorumState quorum;
    private final EpochState role;
    private final ObjectNode shown = Json.object();

    ShownState(KafkaRaftClient<?> client, MemoryLog log) {
        this.client = client;
        this.log = log;
        quorum = client.quorum();
        role = (EpochState) Private.ROLE.get(quorum);
    }

    /** The name of a role: {@code UnattachedState} is Unattached. */
    static String role(EpochState role) {
        return role.getClass().getSimpleName().replace("State", "");
    }

    /** The whole state. */
    ObjectNode json() {
        shown.put("state", role(role)).put("epoch", quorum.epoch()).put("leader", quorum.leaderIdOrSentinel());
        role.election().optionalVotedKey().ifPresent(voted -> shown.set("voted", key(voted)));
        showLog();
        showVoters();
        if (role instanceof LeaderState<?> leader) showLeader(leader);
        Tally.of(role).ifPresent(tally -> {
            ObjectNode election = shown.putObject("election");
            election.set("granted", Json.ids(tally.granted()));
            election.set("rejected", Json.ids(tally.rejected()));
        });
        if (role instanceof FollowerState follower) follower.fetchingSnapshot().ifPresent(this::showLoading);
        if (role instanceof ResignedState resigned) {
            shown.set("unacked", Json.ids(resigned.unackedVoters()));
            ArrayNode successors = shown.putArray("preferredSuccessors");
            resigned.preferredSuccessors().forEach(successor -> successors.add(successor.id()));
        }
        if (client.isShuttingDown()) shown.put("shuttingDown", true);
        return shown;
    }

    private static ArrayNode key(ReplicaKey key) {
        ArrayNode pair = Json.list().add(key.id());
        key.directoryId().ifPresent(directory -> pair.add(directory.toString()));
        return pair;
    }

    private void showLog() {
        shown.put("leo", log.endOffset().offset()).put("lastEpoch", log.lastFetchedEpoch());
        shown.put("hw", quorum.highWatermark().map(LogOffsetMetadata::offset).orElse(-1L));
        log.snapshots().newestShown().ifPresent(newest -> {
            if (log.startOffset() > 0) shown.put("logStart", log.startOffset());
            shown.putArray("snapshot").add(newest.offset()).add(newest.epoch());
        });
    }

    private void showVoters() {
        KRaftControlRecordStateMachine control = (KRaftControlRecordStateMachine) Private.CONTROL_RECORDS.get(client);
        ArrayNode voters = shown.putArray("voters");
        control.lastVoterSet().voterKeys().stream().sorted(Comparator.comparingInt(ReplicaKey::id))
            .forEach(voter -> voters.add(key(voter)));
        shown.put("votersOffset", control.lastVoterSetOffset().orElse(-1));
        shown.put("kraftVersion", control.lastKraftVersion().featureLevel());
        shown.put("isVoter", quorum.isVoter());
    }

    private void showLeader(LeaderState<?> leader) {
        shown.put("epochStart", leader.epochStartOffset());
        ObjectNode progress = shown.putObject("progress");
        ArrayNode unacked = Json.list();
        new TreeMap<>(leader.voterStates()).forEach((id, voter) -> {
            ArrayNode line = progress.putArray(String.valueOf(id));
            line.add(voter.endOffset().map(LogOffsetMetadata::offset).orElse(-1L));
            if (id != quorum.localIdOrSentinel()) line.add(voter.lastFetchTimestamp()).add(voter.lastCaughtUpTimestamp());
            if (!(boolean) Private.ACKNOWLEDGED.get(voter)) unacked.add(id);
        });
        if (!unacked.isEmpty()) shown.set("unacked", unacked);
        VoterChange.added(leader).ifPresent(voter -> shown.set("pendingAdd", key(voter)));
        VoterUpdate.updated(leader).ifPresent(voter -> shown.set("pendingUpdate", key(voter)));
        VoterChange.removedAt(leader).ifPresent(offset -> shown.put("pendingRemove", offset));
        if (leader.isResignRequested()) shown.put("resignRequested", true);
    }

    private void showLoading(RawSnapshotWriter writer) {
        shown.putArray("fetchingSnapshot").add(writer.snapshotId().offset())
            .add(writer.snapshotId().epoch()).add(writer.sizeInBytes());
    }
}
