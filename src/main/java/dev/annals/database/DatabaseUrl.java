package dev.annals.database;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.eclipse.microprofile.config.Config;
import org.jspecify.annotations.Nullable;

/**
 * Where a PostgreSQL database is and who logs in: {@code postgresql://user:password@host:port/database}, as libpq
 * writes it.
 *
 * @param user the role that logs in
 * @param password its password; empty if the server asks for none
 * @param host a name, an IPv4 address, or an IPv6 address without brackets
 * @param port 1 to 65535
 * @param database the database's name
 * @param parameters {@code sslmode} and {@code sslrootcert}, as far as they are given
 */
public record DatabaseUrl(
        String user, String password, String host, int port, String database, Map<String, String> parameters) {

    private static final String PASSWORD_FILE = "annals.database-password-file";
    private static final int MAX_PASSWORD_BYTES = 4_096;
    /** What the driver reports if the server refuses TLS. */
    private static final String REFUSED_BY_SERVER = "08004";

    private static final Pattern LOOPBACK_IPV4 = Pattern.compile("127(\\.[0-9]{1,3}){3}");
    private static final Pattern LOOPBACK_IPV6 = Pattern.compile("(0{0,4}:){2,7}0{0,3}1");
    private static final int DEFAULT_PORT = 5432;
    private static final List<String> SSL_MODES =
            List.of("disable", "allow", "prefer", "require", "verify-ca", "verify-full");
    /** PostgreSQL's, once it has been found: the search opens every library on the class path. */
    private static volatile @Nullable Driver driver;

    private static final String SHAPE = "postgresql://user:password@host:port/database";

    public DatabaseUrl {
        parameters = Map.copyOf(parameters);
    }

    /**
     * The database named by the settings, if any: {@code annals.database-url}, and {@code annals.database-password-file} if
     * the URL has no password.
     *
     * @throws IllegalArgumentException one sentence that says what is wrong and never shows the password
     */
    public static Optional<DatabaseUrl> configured(Config config) {
        return read(name -> config.getOptionalValue(name, String.class).orElse(null));
    }

    static Optional<DatabaseUrl> read(UnaryOperator<@Nullable String> settings) {
        String url = settings.apply(DatabaseUrlConfigSource.DATABASE_URL);
        String file = settings.apply(PASSWORD_FILE);
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
            return new DatabaseUrl(user, line, host, port, database, parameters);
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "The file " + file + " (ANNALS_DATABASE_PASSWORD_FILE) cannot be read ("
                            + e.getClass().getSimpleName() + "). Name one that user " + System.getProperty("user.name")
                            + " may read.",
                    e);
        }
    }

    /**
     * Reads a URL. User, password, database and parameters are percent-decoded; the port is 5432 unless given.
     *
     * @throws IllegalArgumentException one sentence that says what is wrong and never shows the password
     */
    public static DatabaseUrl parse(String url) {
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
            // Neither the exception nor its message may be passed on: both hold the whole URL.
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
            if (!name.equals("sslmode") && !name.equals("sslrootcert")) {
                throw refused("its parameter '" + name + "' is not known; sslmode and sslrootcert are");
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

    // URLDecoder would turn a plus sign into a space, and a broken escape into a message that quotes it.
    private static String decode(String text) {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(encoded.length);
        for (int i = 0; i < encoded.length; i++) {
            if (encoded[i] == '%') {
                // java.net.URI has checked that two hexadecimal digits follow.
                bytes.put((byte) (Character.digit(encoded[i + 1], 16) << 4 | Character.digit(encoded[i + 2], 16)));
                i += 2;
            } else {
                bytes.put(encoded[i]);
            }
        }
        try {
            String decoded =
                    StandardCharsets.UTF_8.newDecoder().decode(bytes.flip()).toString();
            if (decoded.indexOf('\0') >= 0) {
                throw refused("it contains %00");
            }
            return decoded;
        } catch (CharacterCodingException e) {
            throw refused("its percent-encoded characters are not UTF-8");
        }
    }

    private static IllegalArgumentException refused(String reason) {
        return new IllegalArgumentException(
                "The database URL (ANNALS_DATABASE_URL) is not usable: " + reason + ". Its form is " + SHAPE + ".");
    }

    /** The same server and login, another database. */
    public DatabaseUrl withDatabase(String other) {
        return new DatabaseUrl(user, password, host, port, other, parameters);
    }

    /**
     * How the connection is secured, in libpq's terms. If the URL does not say, it is {@code require}, so that neither a
     * password nor a record crosses a network in clear text, or {@code prefer} on the loopback address.
     */
    public String sslMode() {
        return parameters.getOrDefault("sslmode", isLoopback() ? "prefer" : "require");
    }

    // By the text alone: what a name resolves to may change, and others decide it.
    private boolean isLoopback() {
        return host.equalsIgnoreCase("localhost")
                || LOOPBACK_IPV4.matcher(host).matches()
                || LOOPBACK_IPV6.matcher(host).matches();
    }

    /** Whether a connection failed because the server would not encrypt it and this URL requires it. */
    public boolean wantsTlsOf(SQLException failure) {
        return REFUSED_BY_SERVER.equals(failure.getSQLState())
                && !List.of("disable", "allow", "prefer").contains(sslMode());
    }

    /** The PEM file of the certificate authority to trust. */
    public Optional<String> sslRootCertificate() {
        return Optional.ofNullable(parameters.get("sslrootcert"));
    }

    /**
     * A JDBC connection as the URL's user, for work at start and in tests. Blocks, at most ten seconds.
     *
     * @throws SQLException if the server cannot be reached or refuses the login
     */
    public Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("loginTimeout", "10");
        return driver().connect(jdbcUrl(), properties);
    }

    // Not through DriverManager, which sees only the drivers of the class loader from which it was first used.
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

    /** For JDBC, without user and password, which are passed separately. */
    public String jdbcUrl() {
        StringBuilder url = new StringBuilder("jdbc:postgresql://")
                .append(hostAndPort())
                .append('/')
                .append(encode(database))
                .append("?sslmode=")
                .append(sslMode());
        sslRootCertificate().ifPresent(file -> url.append("&sslrootcert=").append(encode(file)));
        return url.toString();
    }

    /** For the reactive client, without user and password, which are passed separately. */
    public String reactiveUrl() {
        return "postgresql://" + hostAndPort() + '/' + encode(database);
    }

    /** The whole URL, with its password: for a file that only its owner reads. */
    public String withPassword() {
        String login = password.isEmpty() ? encode(user) : encode(user) + ':' + encode(password);
        return "postgresql://" + login + '@' + hostAndPort() + '/' + encode(database) + query();
    }

    /** The URL without its password, fit for a log. */
    @Override
    public String toString() {
        return "postgresql://" + encode(user) + '@' + hostAndPort() + '/' + encode(database);
    }

    private String query() {
        return parameters.isEmpty()
                ? ""
                : parameters.entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(entry -> entry.getKey() + '=' + encode(entry.getValue()))
                        .collect(Collectors.joining("&", "?", ""));
    }

    private String hostAndPort() {
        return (host.indexOf(':') < 0 ? host : '[' + host + ']') + ':' + port;
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
