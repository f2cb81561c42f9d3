package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;

import kraftcheck.kafka.NotSupported;

import org.apache.kafka.common.message.AddRaftVoterRequestData;

/** What came with 4.2 and this release may lack: steps that need it are refused. */
final class Lacking {
    private static final boolean JOINS =
        QuorumConfig.CONFIG_DEF.names().contains("controller.quorum.auto.join.enable");
    private static final boolean ANSWERS_EARLY = AddRaftVoterRequestData.HIGHEST_SUPPORTED_VERSION > 0;

    private Lacking() { }

    /** Refuse a process that makes itself a voter. */
    static void refuseIdentity(JsonNode identity) throws NotSupported {
        if (!JOINS && identity.get("autoJoin").asBoolean()) {
            throw new NotSupported("no process of this release makes itself a voter");
        }
    }

    /** Refuse a request to add a voter that is to be answered before the commit. */
    static void refuseRequest(String api, JsonNode data) throws NotSupported {
        if (!ANSWERS_EARLY && api.equals("AddRaftVoter") && !data.path("ackWhenCommitted").asBoolean(true)) {
            throw new NotSupported("this release answers AddRaftVoter after the commit only");
        }
    }
}
