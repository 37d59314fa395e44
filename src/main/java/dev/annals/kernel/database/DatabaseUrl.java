package dev.annals.kernel.database;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.Config;
import org.jspecify.annotations.Nullable;

/**
 * The address and login of a PostgreSQL database: {@code postgresql://user:password@host:port/database}, as in libpq. Servers
 * that replicate one another are separated by commas: {@code host:port,host:port}.
 *
 * @param password empty if the server asks for none
 * @param servers one to {@value #MAX_SERVERS}
 * @param parameters {@code sslmode}, {@code sslrootcert} and {@code target_session_attrs}, as far as given
 */
public record DatabaseUrl(
        String user, String password, List<Server> servers, String database, Map<String, String> parameters) {

    /** Of the heap. */
    static final String MAX_RESULT = "10pct";

    /**
     * A server.
     *
     * @param host an IPv6 address has no brackets
     */
    public record Server(String host, int port) {

        @Override
        public String toString() {
            return (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':' + port;
        }
    }

    /** The kind of server that is wanted. */
    public enum Target {
        ANY,
        PRIMARY,
        STANDBY,
        /** A standby, or else any server. */
        PREFER_STANDBY
    }

    private static final String PASSWORD_FILE = "annals.database-password-file";
    private static final int MAX_PASSWORD_BYTES = 4_096;
    /** The driver's SQLSTATE if the server refuses TLS. */
    private static final String REFUSED_BY_SERVER = "08004";

    private static final Pattern LOOPBACK_IPV4 = Pattern.compile("127(\\.[0-9]{1,3}){3}");
    private static final Pattern LOOPBACK_IPV6 = Pattern.compile("(0{0,4}:){2,7}0{0,3}1");
    private static final int DEFAULT_PORT = 5432;
    private static final List<String> SSL_MODES =
            List.of("disable", "allow", "prefer", "require", "verify-ca", "verify-full");
    /** Cached: the search opens every library on the class path. */
    private static volatile @Nullable Driver driver;

    private static final String SHAPE = "postgresql://user:password@host:port/database";
    private static final int MAX_SERVERS = 16;
    private static final String TARGET = "target_session_attrs";
    /** libpq's names. For {@code read-write} it also checks a setting that the service sets itself. */
    private static final Map<String, Target> TARGETS = Map.of(
            "any", Target.ANY,
            "read-write", Target.PRIMARY,
            "primary", Target.PRIMARY,
            "read-only", Target.STANDBY,
            "standby", Target.STANDBY,
            "prefer-standby", Target.PREFER_STANDBY);

    public DatabaseUrl {
        servers = List.copyOf(servers);
        parameters = Map.copyOf(parameters);
    }

    public DatabaseUrl(
            String user, String password, String host, int port, String database, Map<String, String> parameters) {
        this(user, password, List.of(new Server(host, port)), database, parameters);
    }

    /** The first server's host. */
    public String host() {
        return servers.get(0).host();
    }

    /** The first server's port. */
    public int port() {
        return servers.get(0).port();
    }

    /**
     * Reads the settings.
     *
     * @throws IllegalArgumentException one sentence that says what is wrong and never shows the password
     */
    public static Optional<DatabaseUrl> configured(Config config) {
        return read(name -> config.getOptionalValue(name, String.class).orElse(null));
    }

    static Optional<DatabaseUrl> read(UnaryOperator<@Nullable String> settings) {
        return read(settings, DatabaseUrlConfigSource.DATABASE_URL, PASSWORD_FILE);
    }

    /** The messages of its failures name the variables of home. */
    static Optional<DatabaseUrl> read(UnaryOperator<@Nullable String> settings, String urlSetting, String fileSetting) {
        String url = settings.apply(urlSetting);
        String file = settings.apply(fileSetting);
        boolean hasFile = file != null && !file.isBlank();
        if (url == null || url.isBlank()) {
            if (hasFile) {
                throw new IllegalArgumentException(
                        "ANNALS_DATABASE_PASSWORD_FILE is set and ANNALS_DATABASE_URL is not:"
                                + " name the database, too, or neither.");
            }
            return Optional.empty();
        }
        DatabaseUrl database = parse(url.strip());
        return Optional.of(hasFile ? database.withPasswordOf(Path.of(file.strip())) : database);
    }

    private DatabaseUrl withPasswordOf(Path file) {
        if (!password.isEmpty()) {
            throw refused("it has a password, and ANNALS_DATABASE_PASSWORD_FILE names another; leave one out");
        }
        try (InputStream in = Files.newInputStream(file)) {
            String line = new String(in.readNBytes(MAX_PASSWORD_BYTES), StandardCharsets.UTF_8).stripTrailing();
            if (line.isEmpty() || line.indexOf('\n') >= 0 || line.indexOf('\0') >= 0) {
                throw new IllegalArgumentException(
                        "The file " + file + " (ANNALS_DATABASE_PASSWORD_FILE) does not hold a password on one line.");
            }
            return new DatabaseUrl(user, line, servers, database, parameters);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (ANNALS_DATABASE_PASSWORD_FILE) cannot be read ("
                            + e.getClass().getSimpleName() + "). Name one that user " + System.getProperty("user.name")
                            + " may read.",
                    e);
        }
    }

    /**
     * Parses a URL.
     *
     * @throws IllegalArgumentException one sentence that says what is wrong and never shows the password
     */
    public static DatabaseUrl parse(String url) {
        int scheme = url.indexOf("://");
        int start = scheme < 0 ? 0 : scheme + 3;
        int end = start;
        while (end < url.length() && "/?#".indexOf(url.charAt(end)) < 0) {
            end++;
        }
        start = Math.max(start, url.lastIndexOf('@', end - 1) + 1);
        String[] hosts = url.substring(start, Math.max(start, end)).split(",", -1);
        if (hosts.length > MAX_SERVERS) {
            throw refused("it names " + hosts.length + " servers and may name " + MAX_SERVERS);
        }
        List<Server> servers = new ArrayList<>();
        DatabaseUrl one = null;
        for (String host : hosts) {
            one = parseOne(url.substring(0, start) + host + url.substring(Math.max(start, end)));
            servers.addAll(one.servers);
        }
        DatabaseUrl last = Objects.requireNonNull(one, "a text has at least one part");
        return new DatabaseUrl(last.user, last.password, servers, last.database, last.parameters);
    }

    /**
     * Reads a URL of standbys: by default, several servers mean {@link Target#PREFER_STANDBY}.
     *
     * @param variable of the environment, for the message of a failure
     */
    static DatabaseUrl parseStandbys(String text, String variable) {
        DatabaseUrl url;
        try {
            url = parse(text.strip());
        } catch (IllegalArgumentException e) {
            String message = Objects.requireNonNull(e.getMessage());
            throw new IllegalArgumentException(message.replace("ANNALS_DATABASE_URL", variable), e);
        }
        if (url.servers.size() == 1 || url.parameters.containsKey(TARGET)) {
            return url;
        }
        Map<String, String> parameters = new LinkedHashMap<>(url.parameters);
        parameters.put(TARGET, "prefer-standby");
        return new DatabaseUrl(url.user, url.password, url.servers, url.database, parameters);
    }

    // pgjdbc's parser gives no reason for a refusal; Vert.x's shows the password.
    private static DatabaseUrl parseOne(String url) {
        URI uri = toUri(url);
        String scheme = uri.getScheme();
        if (!"postgresql".equals(scheme) && !"postgres".equals(scheme)) {
            throw refused("it does not start with postgresql://");
        }
        if (uri.getRawAuthority() == null) {
            throw refused("it names no host");
        }
        if (uri.getHost() == null) {
            throw refused("its host or port cannot be read; an @, :, / or ? in the user or the password is written"
                    + " as %40, %3A, %2F or %3F");
        }
        String userInfo = uri.getRawUserInfo();
        if (userInfo == null || userInfo.isEmpty() || userInfo.startsWith(":")) {
            throw refused("it names no user");
        }
        int colon = userInfo.indexOf(':');
        String user = decode(colon < 0 ? userInfo : userInfo.substring(0, colon));
        String password = colon < 0 ? "" : decode(userInfo.substring(colon + 1));
        int port = uri.getPort() < 0 ? DEFAULT_PORT : uri.getPort();
        if (port < 1 || port > 65_535) {
            throw refused("its port " + port + " is not between 1 and 65535");
        }
        String path = uri.getRawPath();
        if (path == null || path.length() < 2 || path.indexOf('/', 1) >= 0) {
            throw refused("it names no database, or more than one, after the host");
        }
        String host = uri.getHost().replaceAll("^\\[|\\]$", "");
        return new DatabaseUrl(user, password, host, port, decode(path.substring(1)), parameters(uri));
    }

    private static URI toUri(String url) {
        try {
            return new URI(url);
        } catch (URISyntaxException e) {
            // The exception and its message hold the password.
            throw refused("character " + (e.getIndex() + 1) + " is not allowed there; special characters are written"
                    + " percent-encoded, such as %40 for @");
        }
    }

    private static Map<String, String> parameters(URI uri) {
        Map<String, String> parameters = new LinkedHashMap<>();
        String query = uri.getRawQuery();
        if (query == null || query.isEmpty()) {
            return parameters;
        }
        for (String pair : query.split("&", -1)) {
            int equals = pair.indexOf('=');
            String name = decode(equals < 0 ? pair : pair.substring(0, equals));
            String value = equals < 0 ? "" : decode(pair.substring(equals + 1));
            if (!name.equals("sslmode") && !name.equals("sslrootcert") && !name.equals(TARGET)) {
                throw refused("its parameter '" + name + "' is not known; sslmode, sslrootcert and " + TARGET + " are");
            }
            if (name.equals(TARGET) && !TARGETS.containsKey(value)) {
                throw refused("its " + TARGET + " '" + value + "' is none of "
                        + TARGETS.keySet().stream().sorted().collect(Collectors.joining(", ")));
            }
            if (name.equals("sslmode") && !SSL_MODES.contains(value)) {
                throw refused("its sslmode '" + value + "' is none of " + String.join(", ", SSL_MODES));
            }
            if (parameters.put(name, value) != null) {
                throw refused("its parameter '" + name + "' stands there twice");
            }
        }
        if (parameters.getOrDefault("sslmode", "").startsWith("verify-") && !parameters.containsKey("sslrootcert")) {
            throw refused("sslmode=" + parameters.get("sslmode")
                    + " needs sslrootcert, the PEM file of the certificate authority to trust");
        }
        return parameters;
    }

    private static String decode(String text) {
        // URLDecoder turns a plus sign into a space.
        String decoded = URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        if (decoded.indexOf('\0') >= 0) {
            throw refused("it contains %00");
        }
        if (decoded.indexOf('\uFFFD') >= 0) {
            throw refused("its percent-encoded characters are not UTF-8");
        }
        return decoded;
    }

    private static IllegalArgumentException refused(String reason) {
        return new IllegalArgumentException(
                "The database URL (ANNALS_DATABASE_URL) is not usable: " + reason + ". Its form is " + SHAPE + ".");
    }

    public DatabaseUrl withDatabase(String other) {
        return new DatabaseUrl(user, password, servers, other, parameters);
    }

    /** Default: the primary of several servers, or a single server of any kind. */
    public Target target() {
        String named = parameters.get(TARGET);
        return named == null ? defaultTarget() : TARGETS.getOrDefault(named, Target.ANY);
    }

    private Target defaultTarget() {
        return servers.size() > 1 ? Target.PRIMARY : Target.ANY;
    }

    /** Default: {@code require}, so that no clear text crosses a network; {@code prefer} if every server is on loopback. */
    public String sslMode() {
        return parameters.getOrDefault("sslmode", isLoopback() ? "prefer" : "require");
    }

    // By the text alone: the address of a name may change.
    private boolean isLoopback() {
        return servers.stream().map(Server::host).allMatch(DatabaseUrl::isLoopback);
    }

    private static boolean isLoopback(String host) {
        return host.equalsIgnoreCase("localhost")
                || LOOPBACK_IPV4.matcher(host).matches()
                || LOOPBACK_IPV6.matcher(host).matches();
    }

    /** Whether the server refused the TLS that this URL requires. */
    public boolean wantsTlsOf(SQLException failure) {
        return REFUSED_BY_SERVER.equals(failure.getSQLState())
                && !List.of("disable", "allow", "prefer").contains(sslMode());
    }

    /** A PEM file. */
    public Optional<String> sslRootCertificate() {
        return Optional.ofNullable(parameters.get("sslrootcert"));
    }

    /**
     * A JDBC connection to the server that {@link #target()} asks for. Blocks for at most ten seconds per server.
     *
     * @throws SQLException if no such server can be reached, or it refuses the login
     */
    public Connection connect() throws SQLException {
        if (target() != Target.PREFER_STANDBY) {
            return connect(target());
        }
        try {
            return connect(Target.STANDBY);
        } catch (SQLException e) {
            return connect(Target.ANY);
        }
    }

    // The driver has one time limit for all hosts, which a frozen server would use up.
    private Connection connect(Target target) throws SQLException {
        SQLException failure = null;
        for (Server server : servers) {
            try {
                Connection connection = connect(server);
                if (target == Target.ANY || isStandby(connection) == (target == Target.STANDBY)) {
                    return connection;
                }
                connection.close();
            } catch (SQLException e) {
                failure = e;
            }
        }
        throw failure == null ? new SQLException(noneIs(target)) : failure;
    }

    private Connection connect(Server server) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("loginTimeout", "10");
        // A database may answer with more than fits into memory.
        properties.setProperty("maxResultBuffer", MAX_RESULT);
        Connection connection = driver().connect(
                        new DatabaseUrl(user, password, List.of(server), database, secured()).jdbcUrl(), properties);
        try {
            Session.prepare(connection);
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
        return connection;
    }

    private Map<String, String> secured() {
        Map<String, String> secured = new LinkedHashMap<>(parameters);
        secured.remove(TARGET);
        secured.put("sslmode", sslMode());
        return secured;
    }

    private static boolean isStandby(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select pg_is_in_recovery()")) {
            return rows.next() && rows.getBoolean(1);
        }
    }

    String noneIs(Target target) {
        return "Of the servers " + hostsAndPorts()
                + (target == Target.STANDBY
                        ? " none is a hot standby, as " + TARGET + " asks for."
                        : " none takes writes now: they are hot standbys. Either none has been promoted yet, or the"
                                + " primary is missing in the URL.");
    }

    // DriverManager sees only the drivers of the class loader from which it was first used.
    private Driver driver() throws SQLException {
        Driver known = driver;
        if (known != null) {
            return known;
        }
        for (Driver each : ServiceLoader.load(Driver.class, DatabaseUrl.class.getClassLoader())) {
            if (each.acceptsURL(jdbcUrl())) {
                driver = each;
                return each;
            }
        }
        throw new SQLException("no JDBC driver for PostgreSQL is on the class path");
    }

    /** Without user and password. */
    public String jdbcUrl() {
        StringBuilder url = new StringBuilder("jdbc:postgresql://")
                .append(hostsAndPorts())
                .append('/')
                .append(encode(database))
                .append("?sslmode=")
                .append(sslMode());
        if (servers.size() > 1) {
            // By default the driver remembers the primary for ten seconds.
            url.append("&connectTimeout=5&hostRecheckSeconds=0");
        }
        switch (target()) {
            case ANY -> {}
            case PRIMARY -> url.append("&targetServerType=primary");
            case STANDBY -> url.append("&targetServerType=secondary");
            case PREFER_STANDBY -> url.append("&targetServerType=preferSecondary");
        }
        sslRootCertificate().ifPresent(file -> url.append("&sslrootcert=").append(encode(file)));
        return url.toString();
    }

    /** One for each server, without user and password. */
    public List<String> reactiveUrls() {
        return servers.stream()
                .map(server -> "postgresql://" + server + '/' + encode(database))
                .toList();
    }

    /** The whole URL with its password, for a file that only its owner reads. */
    public String withPassword() {
        String login = password.isEmpty() ? encode(user) : encode(user) + ':' + encode(password);
        return "postgresql://" + login + '@' + hostsAndPorts() + '/' + encode(database) + query();
    }

    /** The URL without its password, fit for a log. */
    @Override
    public String toString() {
        return "postgresql://" + encode(user) + '@' + hostsAndPorts() + '/' + encode(database);
    }

    private String query() {
        return parameters.isEmpty()
                ? ""
                : parameters.entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(entry -> entry.getKey() + '=' + encode(entry.getValue()))
                        .collect(Collectors.joining("&", "?", ""));
    }

    private String hostsAndPorts() {
        return servers.stream().map(Server::toString).collect(Collectors.joining(","));
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
