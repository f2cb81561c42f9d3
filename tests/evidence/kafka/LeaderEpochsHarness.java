import kraftcheck.kafka.LeaderEpochs;

import java.util.Scanner;

/** Reads operations on leader epochs, and prints what is asked: {@code EPOCH OFFSET}, or {@code unknown}. */
public final class LeaderEpochsHarness {
    /** A line is the name of an operation and its numbers. */
    public static void main(String[] arguments) {
        LeaderEpochs epochs = new LeaderEpochs();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNext()) {
            switch (lines.next()) {
                case "clear" -> epochs.clear();
                case "assign" -> epochs.assign(lines.nextInt(), lines.nextLong());
                case "truncate" -> epochs.truncateFrom(lines.nextLong());
                case "end" -> {
                    LeaderEpochs.End end = epochs.endOf(lines.nextInt(), lines.nextLong());
                    System.out.println(end == null ? "unknown" : end.epoch() + " " + end.offset());
                }
                default -> throw new IllegalArgumentException();
            }
        }
    }
}
