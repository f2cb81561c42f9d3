package kraftcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;

/** New JSON values, and lists of numbers. */
public final class Json {
    private Json() { }

    /** An empty object. */
    public static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    /** An empty list. */
    public static ArrayNode list() {
        return JsonNodeFactory.instance.arrayNode();
    }

    /** The numbers of a list. */
    public static List<Long> longs(JsonNode list) {
        List<Long> numbers = new ArrayList<>();
        for (JsonNode each : list) numbers.add(each.asLong());
        return numbers;
    }

    /** Ids of replicas, ascending. */
    public static ArrayNode ids(Collection<Integer> ids) {
        ArrayNode shown = list();
        new TreeSet<>(ids).forEach(shown::add);
        return shown;
    }
}
