package org.apache.kafka.common.utils;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The protocol's names of Kafka's timers. A timer is known by the class that makes it: a role makes all its timers in
 * the order of its fields. A handler of voter changes makes the timer of the change.
 */
final class TimerNames {
    /** A name; {@code runs}: whether making the timer arms it. */
    record Name(String text, boolean runs) { }

    /** By the field of a role. A candidate before 4.1 has two timers, of which it looks at one at a time. */
    private static final Map<String, Name> BY_FIELD = Map.of(
        "electionTimer", new Name("election", true),
        "backoffTimer", new Name("election", false),
        "fetchTimer", new Name("fetch", true),
        "updateVoterPeriodTimer", new Name("update-voter", true),
        "updateVoterSetPeriodTimer", new Name("update-voter", true),
        "checkQuorumTimer", new Name("check-quorum", true),
        "beginQuorumEpochTimer", new Name("begin-quorum-epoch", true));
    private static final List<Name> CHANGE = List.of(new Name("voter-change", true));
    private static final Name NONE = new Name(null, false);
    private static final StackWalker STACK = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private final Map<Class<?>, List<Name>> byMaker = new HashMap<>();
    private final Map<Class<?>, Integer> made = new HashMap<>();

    /** The name of the timer that is being made; without text: one of no concern to the protocol. */
    Name next() {
        Class<?> maker = STACK.walk(frames -> frames.<Class<?>>map(StackWalker.StackFrame::getDeclaringClass)
            .filter(each -> each != TimerNames.class && each != DriverClock.class && each != Time.class)
            .findFirst().orElseThrow());
        List<Name> names = byMaker.computeIfAbsent(maker, TimerNames::of);
        if (names.isEmpty()) return NONE;
        return names.get((made.merge(maker, 1, Integer::sum) - 1) % names.size());
    }

    private static List<Name> of(Class<?> maker) {
        if (maker.getSimpleName().endsWith("VoterHandler")) return CHANGE;
        return Arrays.stream(maker.getDeclaredFields())
            .filter(field -> field.getType() == Timer.class && BY_FIELD.containsKey(field.getName()))
            .map(Field::getName).map(BY_FIELD::get).toList();
    }
}
