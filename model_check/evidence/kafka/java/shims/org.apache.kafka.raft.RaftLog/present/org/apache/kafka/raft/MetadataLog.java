package org.apache.kafka.raft;

/** The interface of the metadata log, which is {@link RaftLog} since 4.3. */
interface MetadataLog extends RaftLog { }
