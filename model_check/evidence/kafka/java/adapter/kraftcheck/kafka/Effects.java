package kraftcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The effects of a step, in the order in which they happen. */
public final class Effects {
    private ArrayNode list = Json.list();

    /** Add an effect of this kind; the caller fills in its fields. */
    public ObjectNode add(String kind) {
        return list.addObject().put("effect", kind);
    }

    /** The effects since the last call. */
    public ArrayNode take() {
        ArrayNode taken = list;
        list = Json.list();
        return taken;
    }
}
