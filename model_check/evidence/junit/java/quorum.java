    // A quorum of clients. Kafka's own mocks stand for disks, queues and clocks.

    private static final ListenerName LISTENER = ListenerName.normalised("CONTROLLER");
    private static final TopicPartition PARTITION = new TopicPartition("__cluster_metadata", 0);

    /** All replicas of the test, and the logs of disks that are lost. */
    private final List<Replica> replicas = new ArrayList<>();
    private final List<Disk> lostDisks = new ArrayList<>();

    /** A disk, or what is left of it. */
    private record Disk(ReplicaKey key, MockLog log) { }

    private static InetSocketAddress address(int id) {
        return InetSocketAddress.createUnresolved("node-" + id, 9093);
    }

    /** A request on its way, and the response when there is one. */
    private static final class Exchange {
        private final ApiMessage data;
        private final RaftRequest.Outbound request;
        private ApiMessage response;

        /** A request of a replica. */
        Exchange(RaftRequest.Outbound request) {
            this.data = request.data();
            this.request = request;
        }

        /** A request of a process that takes no part in the test. */
        Exchange(ApiMessage data) {
            this.data = data;
            this.request = null;
        }
    }

    /** The longest time-outs. A client that may ask no bootstrap server draws among none. */
    private static final class LargestRandom extends Random {
        private static final long serialVersionUID = 1L;

        @Override
        public int nextInt(int bound) {
            return Math.max(0, bound - 1);
        }
    }

    /** The requests that a client has sent. */
    private static final class Channel implements NetworkChannel {
        private final List<RaftRequest.Outbound> sent = new ArrayList<>();
        private int correlationId = 0;

        @Override
        public int newCorrelationId() {
            return correlationId++;
        }

        @Override
        public void send(RaftRequest.Outbound request) {
            sent.add(request);
        }

        @Override
        public ListenerName listenerName() {
            return LISTENER;
        }
    }

    /** Fetches in purgatory, the oldest first: the wait of one ends when the test says so. */
    private static final class Purgatory implements ExpirationService {
        private final List<CompletableFuture<?>> waiting = new ArrayList<>();

        @Override
        public <T> CompletableFuture<T> failAfter(long timeoutMs) {
            CompletableFuture<T> future = new CompletableFuture<>();
            waiting.add(future);
            return future;
        }
    }

    /** The state machine of a replica, which reads what is committed. */
    private static final class StateMachine implements RaftClient.Listener<String> {
        @Override
        public void handleCommit(BatchReader<String> reader) {
            reader.close();
        }

        @Override
        public void handleLoadSnapshot(SnapshotReader<String> reader) {
            reader.close();
        }

        @Override
        public void handleLoadBootstrap(SnapshotReader<String> reader) {
            reader.close();
        }
    }

    /** A replica: a disk, and the client that runs on it. Each call is one event at this replica. */
    private final class Replica {
        private final int id;
        private final Map<Integer, InetSocketAddress> staticVoters = new HashMap<>();
        private final MockTime time = new MockTime(0, 1_700_000_000_000L, 0L);
        private Uuid directoryId;
        private MockLog log;
        private MockQuorumStateStore store;
//# fields of a replica
        private InetSocketAddress listener;
        private boolean canBecomeVoter = true;
        private boolean autoJoin = false;
        private short maxKRaftVersion = 1;
        private Channel channel;
        private Purgatory purgatory;
        private MockMessageQueue queue;
        private KafkaRaftClient<String> client;

        Replica(int id, String directoryId) {
            this.id = id;
            this.listener = address(id);
            replaceDisk(directoryId);
            lostDisks.clear();
            replicas.add(this);
        }

        ReplicaKey key() {
            return ReplicaKey.of(id, directoryId);
        }

        private MockLog newLog() {
            return new MockLog(PARTITION, Uuid.METADATA_TOPIC_ID, new LogContext("[replica " + id + "] ")) {
                /** All batches that there are; the mock returns two of them at most. */
                @Override
                public LogFetchInfo read(long startOffset, Isolation isolation, int maxTotalBatchBytes) {
                    LogFetchInfo first = super.read(startOffset, isolation, maxTotalBatchBytes);
                    if (first.records.sizeInBytes() == 0) return first;
                    LogOffsetMetadata end = isolation == Isolation.COMMITTED ? highWatermark() : endOffset();
                    return new LogFetchInfo(recordsOf(this, startOffset, end.offset()), first.startOffsetMetadata);
                }
            };
        }

        /** The disk is lost; an empty one takes its place. */
        void replaceDisk(String newDirectoryId) {
            if (log != null) lostDisks.add(new Disk(key(), log));
            client = null;
            directoryId = Uuid.fromString(newDirectoryId);
            log = newLog();
            store = new MockQuorumStateStore();
        }

        /** The process starts. */
        void start() throws Exception {
            channel = new Channel();
            purgatory = new Purgatory();
            queue = new MockMessageQueue();
            Map<String, Object> config = new HashMap<>();
            config.put(QuorumConfig.QUORUM_ELECTION_TIMEOUT_MS_CONFIG, @electionTimeoutMs@);
            config.put(QuorumConfig.QUORUM_ELECTION_BACKOFF_MAX_MS_CONFIG, @electionBackoffMaxMs@);
            config.put(QuorumConfig.QUORUM_FETCH_TIMEOUT_MS_CONFIG, @fetchTimeoutMs@);
            // The test says when a request has timed out, when a back-off is over and when a linger is.
            config.put(QuorumConfig.QUORUM_REQUEST_TIMEOUT_MS_CONFIG, 1_000_000);
            config.put(QuorumConfig.QUORUM_RETRY_BACKOFF_MS_CONFIG, 1_000_000);
            config.put(QuorumConfig.QUORUM_LINGER_MS_CONFIG, 1_000_000);
            config.put(QuorumConfig.QUORUM_AUTO_JOIN_ENABLE_CONFIG, autoJoin);
            client = new KafkaRaftClient<>(
                OptionalInt.of(id),
                directoryId,
                new StringSerde(),
                channel,
                queue,
                log,
                MemoryPool.NONE,
                time,
                purgatory,
                @fetchMaxWaitMs@,
                canBecomeVoter,
                CLUSTER_ID,
                List.of(listener),
                Endpoints.fromInetSocketAddresses(Map.of(LISTENER, listener)),
                new SupportedVersionRange((short) 0, maxKRaftVersion),
                new LogContext("[replica " + id + "] "),
                new LargestRandom(),
                new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF, config))
            );
            bootstrapServers().clear();
            client.initialize(staticVoters, store, new Metrics(time), ignored -> { });
            client.register(new StateMachine());
            settle();
        }

//? kill
        /** The process is killed. Its log ends at {@code end} and is flushed up to {@code flushed}. */
        void kill(long end, long flushed) {
            client = null;
            MockLog found = newLog();
            copySnapshots(log, found);
            long start = log.startOffset();
            boolean durable = true;
            if (start <= flushed) found.flush(false);
            for (RecordBatch batch : recordsOf(log, start, Math.max(start, end)).batches()) {
                durable = durable && batch.lastOffset() < flushed;
                ByteBuffer buffer = ByteBuffer.allocate(batch.sizeInBytes());
                batch.writeTo(buffer);
                buffer.flip();
                found.appendAsFollower(MemoryRecords.readableRecords(buffer), batch.partitionLeaderEpoch());
                if (durable) found.flush(false);
            }
            log = found;
        }

//.
//? copySnapshots
        private void copySnapshots(MockLog from, MockLog to) {
            from.latestSnapshot().ifPresent(snapshot -> {
                try (RawSnapshotWriter writer = to.createNewSnapshotUnchecked(snapshot.snapshotId()).get()) {
                    writer.append((MemoryRecords) snapshot.records());
                    writer.freeze();
                }
            });
        }

//.
//? staticVoters
        /** Voters of the configuration, under kraft.version 0. */
        void staticVoters(int... ids) {
            for (int each : ids) staticVoters.put(each, address(each));
        }

//.
//? formatWith
        /** The checkpoint 0-0 with these voters, as formatting leaves it. */
        void formatWith(VoterSet voters) {
            RecordsSnapshotWriter.Builder builder = new RecordsSnapshotWriter.Builder()
                .setRawSnapshotWriter(log.createNewSnapshotUnchecked(Snapshots.BOOTSTRAP_SNAPSHOT_ID).get())
                .setKraftVersion(KRaftVersion.KRAFT_VERSION_1)
                .setVoterSet(Optional.of(voters));
            try (RecordsSnapshotWriter<String> writer = builder.build(new StringSerde())) {
                writer.freeze();
            }
        }

//.
//? writeQuorumState
        void writeQuorumState(int epoch, OptionalInt leader, Optional<ReplicaKey> voted) {
            KRaftVersion version = staticVoters.isEmpty() ? KRaftVersion.KRAFT_VERSION_1 : KRaftVersion.KRAFT_VERSION_0;
            store.writeElectionState(new ElectionState(epoch, leader, voted, staticVoters.keySet()), version);
        }

//.
//? writeRecords
        void writeRecords(int epoch, String... records) {
            write(epoch, false, batch -> {
                for (String each : records) batch.append(0L, null, Utils.utf8(each));
            });
        }

//.
//? writeControlRecords
        void writeControlRecords(int epoch, Consumer<MemoryRecordsBuilder> records) {
            write(epoch, true, records);
        }

//.
//? write
        private void write(int epoch, boolean control, Consumer<MemoryRecordsBuilder> records) {
            try (MemoryRecordsBuilder builder = MemoryRecords.builder(
                ByteBuffer.allocate(4096), RecordBatch.CURRENT_MAGIC_VALUE, Compression.NONE, TimestampType.CREATE_TIME,
                log.endOffset().offset(), 0L, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
                RecordBatch.NO_SEQUENCE, false, control, epoch)) {
                records.accept(builder);
                log.appendAsLeader(builder.build(), epoch);
            }
            log.flush(false);
        }

//.
//# methods of a replica
//? sent
        /** The latest request of this kind to a node that has not been looked up yet. */
        Exchange sent(ApiKeys api, int destination) {
            for (int i = channel.sent.size() - 1; i >= 0; i--) {
                RaftRequest.Outbound request = channel.sent.get(i);
                if (request.data().apiKey() == api.id && request.destination().id() == destination) {
                    channel.sent.remove(i);
                    return new Exchange(request);
                }
            }
            return abort("Replica " + id + " has not sent a " + api + " request to " + destination
                + ": the steps of the trace are not taken any more");
        }

//.
//? receive
        /** A request arrives. */
        void receive(Exchange exchange) throws Exception {
            short version = ApiKeys.forId(exchange.data.apiKey()).latestVersion();
            time.sleep(1);
            RaftRequest.Inbound request =
                new RaftRequest.Inbound(LISTENER, 0, version, exchange.data, time.milliseconds());
            request.completion.whenComplete((response, error) -> {
                if (response != null) exchange.response = response.data();
            });
            client.handle(request);
//# before a request
            settle();
//# after a request
        }

//.
//? receiveResponse
        /** The response to a request of this replica arrives. */
        void receiveResponse(Exchange exchange) throws Exception {
            receiveResponse(exchange, exchange.response);
        }

//.
//? receiveResponse
        /** This response to a request of this replica arrives. */
        void receiveResponse(Exchange exchange, ApiMessage response) throws Exception {
            handleResponse(exchange, response);
            settle();
        }

//.
//? handleResponse
        /** A response arrives, and the round after it, in which a timer has expired, follows. */
        void handleResponse(Exchange exchange) throws Exception {
            handleResponse(exchange, exchange.response);
        }

//.
//? handleResponse
        /** One round of the poll loop, in which this response arrives. */
        void handleResponse(Exchange exchange, ApiMessage response) throws Exception {
            if (response == null) {
                abort("There is no response to " + exchange.request
                    + ": the steps of the trace are not taken any more");
            }
            RaftRequest.Outbound request = exchange.request;
            request.completion.complete(
                new RaftResponse.Inbound(request.correlationId(), response, request.destination()));
            poll();
        }

//.
//? connectionIsReady
        /** A request to this node gets no response in time, or its back-off is over: the connection is ready. */
        void connectionIsReady(int node) throws Exception {
            RequestManager requests = field(client, "requestManager");
            requests.reset(new Node(node, "node-" + node, 9093));
        }

//.
        /** The poll loop runs until it has nothing to do any more. No timer expires. */
        void settle() throws Exception {
            poll();
            poll();
            poll();
        }

//? expire
        /** These timers of the role expire, and no other one. */
        void expire(String... timers) throws Exception {
            poll(timers);
            settle();
        }

//.
        /** One round of the poll loop, in which exactly these timers of the role have expired. */
        void poll(String... expired) throws Exception {
            time.sleep(1);
            for (String timer : expired) {
                if (timer.equals("linger")) client.quorum().leaderStateOrThrow().accumulator().forceDrain();
            }
            for (Map.Entry<String, Timer> timer : timers().entrySet()) {
                timer.getValue().update(time.milliseconds());
                if (List.of(expired).stream().anyMatch(timer.getKey()::startsWith)) {
                    timer.getValue().reset(0);
                } else if (timer.getValue().isExpired()) {
                    timer.getValue().reset(1);
                }
            }
            client.poll();
//# after a poll
        }

        /** The timers of the role, and that of the voter change under way, by their names. */
        private Map<String, Timer> timers() throws Exception {
            Map<String, Timer> timers = new HashMap<>();
            EpochState role = field(client.quorum(), "state");
            for (Field each : role.getClass().getDeclaredFields()) {
                Object value = field(role, each.getName());
                if (value instanceof Timer) {
                    timers.put(each.getName(), (Timer) value);
                } else if (value instanceof Optional && each.getName().endsWith("VoterHandlerState")) {
                    if (((Optional<?>) value).isPresent()) {
                        timers.put("voterChange", field(((Optional<?>) value).get(), "timeout"));
                    }
                }
            }
            return timers;
        }

//? lookForLeaderAt
        /** The client looks for the leader. It may ask any bootstrap server; here it finds this one. */
        void lookForLeaderAt(int node) throws Exception {
            bootstrapServers().add(new Node(node, "node-" + node, 9093));
            poll();
            bootstrapServers().clear();
            settle();
        }

//.
        private List<Node> bootstrapServers() throws Exception {
            return field(field(client, "requestManager"), "bootstrapServers");
        }

//? fetchWaitExpires
        /** The oldest fetch but {@code position} that waits in purgatory has waited its time. */
        void fetchWaitExpires(int position) throws Exception {
            purgatory.waiting.removeIf(CompletableFuture::isDone);
            purgatory.waiting.get(position).completeExceptionally(new TimeoutException());
            settle();
        }

//.
//? resign
        /** The state machine resigns the leadership. */
        void resign(int epoch) throws Exception {
            client.resign(epoch);
            settle();
        }

//.
//? upgradeKRaftVersion
        /** The state machine finalizes a level of kraft.version. */
        void upgradeKRaftVersion(int epoch, int level) throws Exception {
            client.upgradeKRaftVersion(epoch, KRaftVersion.fromFeatureLevel((short) level), false);
            settle();
        }

//.
//? shutdown
        /** A graceful shutdown begins. */
        void shutdown() throws Exception {
            client.shutdown(3_600_000);
            settle();
        }

//.
//? append
        /** The state machine appends records. */
        void append(int epoch, String... records) throws Exception {
            client.prepareAppend(epoch, List.of(records));
            client.schedulePreparedAppend();
            settle();
        }

//.
//? createSnapshot
        /** The state machine writes a snapshot of what is committed. */
        void createSnapshot(long endOffset, int epoch, String... records) throws Exception {
            Optional<SnapshotWriter<String>> writer = client.createSnapshot(new OffsetAndEpoch(endOffset, epoch), 0);
            writer.ifPresent(snapshot -> {
                if (records.length > 0) snapshot.append(List.of(records));
                snapshot.freeze();
            });
            settle();
        }

//.
//? deleteBeforeSnapshot
        /** The log before this snapshot is deleted. */
        void deleteBeforeSnapshot(long endOffset, int epoch) throws Exception {
            log.deleteBeforeSnapshot(new OffsetAndEpoch(endOffset, epoch));
            settle();
        }

//.
    }

    /** The batches of a log that lie between two offsets. */
    private static MemoryRecords recordsOf(MockLog log, long start, long end) {
        ByteBuffer buffer = ByteBuffer.allocate(4096);
        for (MockLog.LogBatch batch : log.readBatches(start, OptionalLong.of(end))) {
            buffer = batch.writeTo(buffer);
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

//? json
    /** JSON with the other quotes. */
    private static JsonNode json(String text) throws Exception {
        return new ObjectMapper().readTree(text.replace('\'', '"'));
    }

//.
//? key
    private static ReplicaKey key(int id, String directoryId) {
        return ReplicaKey.of(id, Uuid.fromString(directoryId));
    }

//.
//? voterSet
    private static VoterSet voterSet(ReplicaKey... keys) {
        Map<Integer, VoterSet.VoterNode> voters = new HashMap<>();
        for (ReplicaKey each : keys) {
            Endpoints endpoints = Endpoints.fromInetSocketAddresses(Map.of(LISTENER, address(each.id())));
            SupportedVersionRange versions = new SupportedVersionRange((short) 0, (short) 1);
            voters.put(each.id(), VoterSet.VoterNode.of(each, endpoints, versions));
        }
        return VoterSet.fromMap(voters);
    }

//.
    /** The value of a private field. */
    @SuppressWarnings("unchecked")
    private static <T> T field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return (T) field.get(owner);
    }
