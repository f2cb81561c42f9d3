package kraftcheck.kafka;

import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.server.common.serialization.RecordSerde;

/** Records of the state machine: a number each, in eight bytes. */
public final class LongSerde implements RecordSerde<Long> {
    @Override
    public int recordSize(Long data, ObjectSerializationCache cache) {
        return Long.BYTES;
    }

    @Override
    public void write(Long data, ObjectSerializationCache cache, Writable out) {
        out.writeLong(data);
    }

    @Override
    public Long read(Readable input, int size) {
        return input.readLong();
    }
}
