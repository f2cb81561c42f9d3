package org.apache.kafka.common.telemetry.internals;

import java.nio.ByteBuffer;

/** Named by requests with metrics of clients, which no replica of a quorum sends; it needs OpenTelemetry. */
public class ClientTelemetryUtils {
    /** Never called. */
    public static ByteBuffer decompress(ByteBuffer metrics, Object type, int maxBytes) {
        throw new UnsupportedOperationException("metrics of clients");
    }

    /** Never called; before 4.1. */
    public static ByteBuffer decompress(byte[] metrics, Object type, int maxBytes) {
        throw new UnsupportedOperationException("metrics of clients");
    }
}
