package org.apache.kafka.raft;

/** The interface of the metadata log, which is {@link ReplicatedLog} before 4.3. */
interface MetadataLog extends ReplicatedLog { }
