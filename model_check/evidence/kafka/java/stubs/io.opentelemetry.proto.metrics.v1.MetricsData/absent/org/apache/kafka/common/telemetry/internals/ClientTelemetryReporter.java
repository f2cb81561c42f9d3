package org.apache.kafka.common.telemetry.internals;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.common.utils.Time;

import java.util.List;
import java.util.Map;

/** Named by Kafka's configuration of clients, which no replica of a quorum has; it needs OpenTelemetry. */
public class ClientTelemetryReporter implements MetricsReporter {
    /** Never called. */
    public ClientTelemetryReporter(Time time) { }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }

    @Override
    public void configure(Map<String, ?> configs) { }

    /** Never called. */
    public ClientTelemetrySender telemetrySender() {
        return null;
    }

    /** Never called. */
    public void initiateClose() { }

    /** Never called. */
    public void updateMetricsLabels(Map<String, String> labels) { }
}
