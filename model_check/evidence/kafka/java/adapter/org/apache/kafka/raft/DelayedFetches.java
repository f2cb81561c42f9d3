package org.apache.kafka.raft;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The Fetch requests in purgatory, in the place of Kafka's {@code TimingWheelExpirationService}: the wait of one ends
 * when the driver says so.
 */
final class DelayedFetches implements ExpirationService {
    private record Key(int from, int requestId) { }

    private final Map<Key, CompletableFuture<?>> waiting = new HashMap<>();
    private Key handled = null;

    /** Handle a request: what is delayed meanwhile belongs to it. */
    void during(int from, int requestId, Runnable handling) {
        handled = new Key(from, requestId);
        try {
            handling.run();
        } finally {
            handled = null;
        }
    }

    /** Take out what the request waits for; null: it does not wait. */
    CompletableFuture<?> remove(int from, int requestId) {
        return waiting.remove(new Key(from, requestId));
    }

    @Override
    public <T> CompletableFuture<T> failAfter(long timeoutMs) {
        CompletableFuture<T> future = new CompletableFuture<>();
        if (handled != null) waiting.put(handled, future);
        return future;
    }
}
