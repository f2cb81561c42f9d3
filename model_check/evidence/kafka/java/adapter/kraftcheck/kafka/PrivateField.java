package kraftcheck.kafka;

import java.lang.reflect.Field;

/** A field of a class of Kafka that is not public. */
public final class PrivateField {
    private final Field field;

    private PrivateField(Field field) {
        this.field = field;
    }

    /** The field of this class. Raises an error where this release has none. */
    public static PrivateField of(String owner, String name) {
        try {
            Field field = Class.forName(owner).getDeclaredField(name);
            field.setAccessible(true);
            return new PrivateField(field);
        } catch (ReflectiveOperationException missing) {
            throw new NoSuchFieldError(owner + "." + name);
        }
    }

    /** Its value in {@code owner}. */
    public Object get(Object owner) {
        try {
            return field.get(owner);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Set it in {@code owner}. */
    public void set(Object owner, Object value) {
        try {
            field.set(owner, value);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
