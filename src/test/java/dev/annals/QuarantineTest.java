package dev.annals;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Private classes of other projects are used in one package only. They may change with any release, so this test names each one,
 * why it is needed, and what would replace it.
 */
@BesideTheService
class QuarantineTest {

    private static final String QUARANTINE = "dev.annals.kernel.quarantine";

    private record Use(String why, String replacement) {}

    private static final Use WATCH_STATEMENTS = new Use(
            "AnswerDeadline counts the statements under way on a connection",
            "a time limit for answers in PgConnectOptions, or events for the begin and end of each command");
    private static final Use REACH_SOCKET = new Use(
            "AnswerDeadline closes a connection at once, without a goodbye that waits for the other end",
            "SqlConnection with a close that does not wait, and a close handler that a pool does not take over");

    /** Every private class, by its name. */
    private static final Map<String, Use> PRIVATE_CLASSES = Map.of(
            "io.vertx.sqlclient.impl.command.CommandBase", WATCH_STATEMENTS,
            "io.vertx.sqlclient.impl.command.CommandResponse", WATCH_STATEMENTS,
            "io.vertx.sqlclient.impl.SocketConnectionBase", REACH_SOCKET,
            "io.vertx.sqlclient.impl.SqlConnectionInternal", REACH_SOCKET,
            "io.vertx.sqlclient.impl.Connection", REACH_SOCKET,
            "io.vertx.core.net.impl.NetSocketInternal", REACH_SOCKET,
            "io.vertx.core.impl.VertxBuilder",
                    new Use(
                            "ClientLoops gives connections to sinks event loops and a transport of their own",
                            "VertxBuilder.withTransport, which Vert.x 5 publishes"),
            "io.vertx.core.net.impl.ConnectionBase",
                    new Use(
                            "ClientConnection drops a client together with the answers that it does not read",
                            "HttpConnection or HttpServerResponse with a close that does not send the rest first"));

    /** The classes that reach into Netty's channels, which are Vert.x's own. */
    private static final Map<String, Use> CHANNELS = Map.of(
            "NettySubstitutions",
                    new Use(
                            "replaces methods of Netty in a native executable",
                            "a Quarkus that replaces the methods of the Netty in use"),
            "AnswerDeadline", WATCH_STATEMENTS,
            "LoginDeadline",
                    new Use(
                            "closes a connection to a database whose login never ends",
                            "a time limit for the login in PgConnectOptions; the idle timeouts only say goodbye"),
            "GuardedTransport",
                    new Use(
                            "sees connections before their first request, and those that log in",
                            "a handler for new connections of Quarkus' HTTP server, given the address, that can refuse"),
            "PostgresGuard",
                    new Use(
                            "refuses what a sink's PostgreSQL sends before the client's codec pays for it",
                            "limits on messages, iterations and rows in PgConnectOptions"),
            "AnswerLimit",
                    new Use(
                            "closes the connections of a member that answers with too much before the client keeps it",
                            "a limit on the bytes and rows of an answer in PgConnectOptions"),
            "ClientLoops", new Use("gives each connection a PostgresGuard", "as for PostgresGuard"),
            "ConnectionGuard",
                    new Use(
                            "ends slow heads, limits large ones, and hands over one request at a time",
                            "limits on the time of a head and on requests sent ahead in HttpServerOptions"),
            "ClientConnection", new Use("closes without sending the rest", "as for ConnectionBase"));

    /** Packages whose classes are private by their name, or by their project's word. */
    private static final Pattern PRIVATE = Pattern.compile(
            "(?!dev\\.annals\\b).*\\b(impl|internal|internals)(\\..*)?|org\\.jboss\\.resteasy\\.reactive\\.server\\.(core|handlers|jaxrs|mapping|util|vertx)\\b.*");

    private static final Pattern NETTY = Pattern.compile("io\\.netty\\..*");

    /** Utilities that need no channel: addresses as bytes, networks, and a buffer around bytes that are not copied. */
    private static final Set<String> OPEN_NETTY = Set.of(
            "io.netty.util.NetUtil",
            "io.netty.handler.ipfilter.IpSubnetFilterRule",
            "io.netty.handler.ipfilter.IpFilterRuleType",
            "io.netty.buffer.ByteBuf",
            "io.netty.buffer.Unpooled");

    /** Calls that open what a class keeps to itself. */
    private static final Set<String> OPENERS = Set.of(
            "setAccessible",
            "trySetAccessible",
            "privateLookupIn",
            "getDeclaredConstructor",
            "getDeclaredMethod",
            "getDeclaredField");

    @Test
    void privateClassesAreUsedInTheQuarantineOnly() {
        assertThat(OwnClasses.all().stream()
                        .filter(type -> !isQuarantined(type))
                        .flatMap(QuarantineTest::forbidden))
                .isEmpty();
    }

    @Test
    void everyPrivateClassHasAReasonAndAReplacement() {
        assertThat(targets(quarantined()).filter(QuarantineTest::isPrivate))
                .containsExactlyInAnyOrderElementsOf(PRIVATE_CLASSES.keySet());
        assertThat(quarantined()
                        .filter(type -> targets(Stream.of(type)).anyMatch(QuarantineTest::isClosedNetty))
                        .map(type -> outermost(type).substring(QUARANTINE.length() + 1))
                        .distinct())
                .containsExactlyInAnyOrderElementsOf(CHANNELS.keySet());
        assertThat(Stream.concat(PRIVATE_CLASSES.values().stream(), CHANNELS.values().stream()))
                .noneMatch(use -> use.why.isBlank() || use.replacement.isBlank());
    }

    private static Stream<String> forbidden(JavaClass type) {
        Stream<String> uses = targets(Stream.of(type)).filter(target -> isPrivate(target) || isClosedNetty(target));
        Stream<String> opened = type.getMethodCallsFromSelf().stream()
                .filter(QuarantineTest::opens)
                .map(call -> call.getTarget().getFullName());
        return Stream.concat(uses, opened).distinct().map(use -> type.getName() + " uses " + use);
    }

    private static boolean opens(JavaMethodCall call) {
        return OPENERS.contains(call.getTarget().getName())
                && call.getTargetOwner().getName().startsWith("java.lang.");
    }

    private static Stream<JavaClass> quarantined() {
        return OwnClasses.all().stream().filter(QuarantineTest::isQuarantined);
    }

    private static boolean isQuarantined(JavaClass type) {
        return type.getPackageName().equals(QUARANTINE);
    }

    private static Stream<String> targets(Stream<JavaClass> types) {
        return types.flatMap(type -> type.getDirectDependenciesFromSelf().stream())
                .map(dependency ->
                        dependency.getTargetClass().getBaseComponentType().getName())
                .distinct();
    }

    private static boolean isPrivate(String name) {
        int end = name.lastIndexOf('.');
        return end > 0 && PRIVATE.matcher(name.substring(0, end)).matches();
    }

    private static boolean isClosedNetty(String name) {
        return NETTY.matcher(name).matches() && !OPEN_NETTY.contains(name);
    }

    private static String outermost(JavaClass type) {
        int nested = type.getName().indexOf('$');
        return nested < 0 ? type.getName() : type.getName().substring(0, nested);
    }
}
