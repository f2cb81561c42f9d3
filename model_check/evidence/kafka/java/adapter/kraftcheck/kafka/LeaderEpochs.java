package kraftcheck.kafka;

import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;

/** The offset at which each epoch of the log starts: Kafka's {@code LeaderEpochFileCache}. */
public final class LeaderEpochs {
    private final TreeMap<Integer, Long> starts = new TreeMap<>();

    /** An epoch and an offset. */
    public record End(int epoch, long offset) { }

    /** The records from {@code offset} on are of {@code epoch} ({@code assign}). */
    public void assign(int epoch, long offset) {
        if (!starts.isEmpty() && starts.lastKey() == epoch && starts.lastEntry().getValue() <= offset) return;
        while (!starts.isEmpty() && (starts.lastKey() >= epoch || starts.lastEntry().getValue() >= offset)) {
            starts.pollLastEntry();
        }
        starts.put(epoch, offset);
    }

    /** The last epoch. */
    public OptionalInt latest() {
        return starts.isEmpty() ? OptionalInt.empty() : OptionalInt.of(starts.lastKey());
    }

    /**
     * The end of the largest epoch up to {@code epoch}, in a log that ends at {@code logEnd}; null: the cache does not
     * know it ({@code endOffsetFor}).
     */
    public End endOf(int epoch, long logEnd) {
        if (!starts.isEmpty() && starts.lastKey() == epoch) return new End(epoch, logEnd);
        Map.Entry<Integer, Long> higher = starts.higherEntry(epoch);
        if (higher == null) return null;
        Integer floor = starts.floorKey(epoch);
        return new End(floor == null ? epoch : floor, higher.getValue());
    }

    /** Forget the epochs that start at {@code offset} or later ({@code truncateFromEndAsyncFlush}). */
    public void truncateFrom(long offset) {
        while (!starts.isEmpty() && starts.lastEntry().getValue() >= offset) starts.pollLastEntry();
    }

    /** Forget the epochs before {@code offset}; the one that contains it starts there ({@code truncateFromStart}). */
    public void deleteBefore(long offset) {
        Map.Entry<Integer, Long> containing = null;
        while (!starts.isEmpty() && starts.firstEntry().getValue() <= offset) containing = starts.pollFirstEntry();
        if (containing != null) starts.put(containing.getKey(), offset);
    }

    /** Forget all. */
    public void clear() {
        starts.clear();
    }
}
