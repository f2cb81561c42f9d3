        /** The voter set by which the replica acts. */
        VoterSet voters() throws Exception {
            KRaftControlRecordStateMachine partitionState = field(client, "partitionState");
            return partitionState.lastVoterSet();
        }
