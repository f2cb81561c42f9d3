package org.apache.kafka.raft;

import kraftcheck.kafka.Effects;

import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;

import org.slf4j.Logger;

import java.lang.reflect.Proxy;

/**
 * Loggers that write nothing. The one of {@link QuorumState} reports the changes of role and epoch, of which Kafka
 * writes a line each; releases differ in the package of {@code LogContext}.
 */
final class RoleChanges extends LogContext {
    private static final String CHANGED = "Completed transition to {} from {}";

    private final Effects effects;
    private final Logger silent = logger((format, values) -> { });
    private final Logger listening = logger(this::logged);

    private interface Line {
        void logged(Object format, Object[] values);
    }

    RoleChanges(Effects effects) {
        this.effects = effects;
    }

    @Override
    public Logger logger(Class<?> owner) {
        return owner == QuorumState.class ? listening : silent;
    }

    private static Logger logger(Line line) {
        return (Logger) Proxy.newProxyInstance(Logger.class.getClassLoader(), new Class<?>[] {Logger.class},
            (proxy, method, arguments) -> {
                if (arguments != null && method.getReturnType() == void.class) {
                    line.logged(arguments[0], arguments);
                }
                if (method.getReturnType() == boolean.class) return false;
                return method.getReturnType() == String.class ? "kraftcheck" : null;
            });
    }

    private void logged(Object format, Object[] arguments) {
        if (!CHANGED.equals(format)) return;
        EpochState to = (EpochState) arguments[1];
        EpochState from = (EpochState) arguments[2];
        effects.add("transition").put("from", from == null ? "Start" : ShownState.role(from))
            .put("to", ShownState.role(to)).put("epoch", to.epoch());
    }
}
