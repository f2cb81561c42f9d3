package kraftcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.raft.Upgrade;
import org.apache.kafka.raft.VoterUpdate;

import java.util.List;

/** The steps, effects and fields of the state that this adapter declares: all of docs/drive.md. */
final class Capabilities {
    private static final List<String> EVENTS = List.of(
        "start", "request", "response", "poll", "requestTimedOut", "backoffExpired", "fetchWaitExpired", "append",
        "resign", "upgradeKRaftVersion", "createSnapshot", "shutdown", "crash");
    private static final List<String> EFFECTS = List.of(
        "persist", "append", "truncate", "flush", "storeSnapshot", "deleteBefore", "loadSnapshot", "request",
        "response", "highWatermark", "transition", "timer", "appendAccepted", "callFailed", "forgetRequests", "stop",
        "fatal", "giveRecords", "giveSnapshot", "giveLeader", "wait", "wakeUp");
    private static final List<String> STATE = List.of(
        "state", "epoch", "leader", "voted", "leo", "lastEpoch", "hw", "logStart", "snapshot", "voters",
        "votersOffset", "kraftVersion", "isVoter", "election", "epochStart", "progress", "unacked", "pendingAdd",
        "pendingRemove", "pendingUpdate", "resignRequested", "fetchingSnapshot", "preferredSuccessors",
        "shuttingDown");

    private Capabilities() { }

    /** The capabilities for the handshake; a release may lack the finalizing of kraft.version and pending updates. */
    static ObjectNode shown() {
        ObjectNode shown = Json.object();
        ArrayNode events = shown.putArray("events");
        EVENTS.stream().filter(each -> Upgrade.OFFERED || !each.equals("upgradeKRaftVersion")).forEach(events::add);
        EFFECTS.forEach(shown.putArray("effects")::add);
        ArrayNode state = shown.putArray("state");
        STATE.stream().filter(each -> VoterUpdate.OFFERED || !each.equals("pendingUpdate")).forEach(state::add);
        return shown.put("ordered", true).put("addresses", true).put("draws", true);
    }
}
