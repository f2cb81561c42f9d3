package kraftcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.raft.DrivenReplica;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The adapter of {@code kraftcheck drive} for Apache Kafka: reads a message a line, answers with what the unmodified
 * {@code org.apache.kafka.raft.KafkaRaftClient} does. docs/drive.md describes the messages.
 */
public final class Adapter {
    private final ObjectMapper json = new ObjectMapper();
    private final String name;
    private final Effects effects = new Effects();
    private DrivenReplica replica = null;

    private Adapter(String name) {
        this.name = name;
    }

    /** Answer until the input ends or says {@code exit}. The argument is the name that the handshake gives. */
    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Some logging libraries write to standard output, which belongs to the protocol.
        System.setOut(System.err);
        Adapter adapter = new Adapter(arguments.length > 0 ? arguments[0] : "Apache Kafka");
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode message = adapter.json.readTree(line);
            if (message.path("type").asText().equals("exit")) return;
            answers.println(adapter.json.writeValueAsString(adapter.answer(message)));
        }
    }

    private ObjectNode answer(JsonNode message) {
        ObjectNode answer = Json.object();
        answer.set("id", message.get("id"));
        try {
            if (message.path("type").asText().equals("hello")) {
                Private.require();
                answer.put("protocol", 1).put("name", name).set("capabilities", Capabilities.shown());
            } else {
                take(message, answer);
            }
        } catch (NotSupported refused) {
            answer.put("unsupported", refused.getMessage());
        } catch (Exception | LinkageError failure) {
            failure.printStackTrace();
            answer.put("error", failure.toString());
        }
        return answer;
    }

    private void take(JsonNode message, ObjectNode answer) throws Exception {
        effects.take();
        String type = message.path("type").asText();
        long now = message.path("now").asLong();
        if (type.equals("start") || type.equals("crash")) {
            end();
            if (type.equals("start")) {
                replica = new DrivenReplica(message, effects);
                replica.begin(now);
            }
        } else if (replica == null) {
            throw new NotSupported("no process runs");
        } else {
            Steps.take(replica, type, now, message);
        }
        boolean runs = replica != null && !replica.hasEnded();
        answer.set("effects", effects.take());
        answer.set("state", runs ? replica.state() : Json.object());
        if (!runs) end();
    }

    private void end() {
        if (replica != null) replica.close();
        replica = null;
    }
}
