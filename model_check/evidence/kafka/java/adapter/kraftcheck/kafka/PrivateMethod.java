package kraftcheck.kafka;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** A method of a class of Kafka that is not public, or whose class or name differs between releases. */
public final class PrivateMethod {
    private final Method method;

    private PrivateMethod(Method method) {
        this.method = method;
    }

    /** The method of this class with these parameters. Raises an error where this release has none. */
    public static PrivateMethod of(String owner, String name, Class<?>... parameters) {
        try {
            Method method = Class.forName(owner).getDeclaredMethod(name, parameters);
            method.setAccessible(true);
            return new PrivateMethod(method);
        } catch (ReflectiveOperationException missing) {
            throw new NoSuchMethodError(owner + "." + name);
        }
    }

    /** Call it on {@code owner}; null for a static one. What it throws comes out as it is. */
    public Object call(Object owner, Object... arguments) {
        try {
            return method.invoke(owner, arguments);
        } catch (InvocationTargetException error) {
            throw Private.<RuntimeException>unchecked(error.getCause());
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
