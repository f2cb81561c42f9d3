import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Runs the tests of these classes, which are in the package of Kafka's raft module; a line for each. */
public final class RunTest {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Constructor<?> constructor = Class.forName("org.apache.kafka.raft." + name).getDeclaredConstructor();
            for (Method method : constructor.getDeclaringClass().getMethods()) {
                if (!method.isAnnotationPresent(org.junit.jupiter.api.Test.class)) continue;
                System.out.println(name + ": " + run(method, constructor.newInstance()).replace('\n', ' '));
            }
        }
    }

    private static String run(Method method, Object test) throws IllegalAccessException {
        try {
            method.invoke(test);
            return "passes";
        } catch (InvocationTargetException error) {
            boolean fails = error.getCause() instanceof AssertionError;
            return (fails ? "fails: " : "error: ") + error.getCause().getMessage();
        }
    }
}
