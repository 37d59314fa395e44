package dev.annals.tools.ops;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.annals.derived.proof.MasterKey;
import dev.annals.kernel.database.DatabaseCheck;
import dev.annals.kernel.database.Sql;
import dev.annals.kernel.http.Timestamps;
import dev.annals.proof.VerifierKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The checks of {@link Doctor} on one deployment. */
final class Examination {

    private static final Sql EXAMINE_DEPLOYMENT = Sql.named("tools/ops/examine_deployment");
    private static final Set<String> UTC = Set.of("UTC", "Etc/UTC", "GMT", "Zulu", "Universal");
    private static final Set<Integer> MAJORS = Set.of(15, 16, 17, 18);
    /** Clocks that follow a time server differ by less. */
    private static final Duration CLOCKS_DIFFER = Duration.ofSeconds(2);

    private static final Duration CLOCKS_ARE_WRONG = Duration.ofMinutes(1);

    private final Connection connection;
    private final boolean pooled;

    /** The service runs the database itself. */
    private final boolean own;

    private final ServiceAnswer service;
    private final JsonNode facts;
    /** The settings of the last start that differ from the defaults, by the names of their variables. */
    private final JsonNode settings;

    private final Instant asked;
    private final Instant answered;
    private final List<Finding> findings = new ArrayList<>();

    /** @param other open at the same time: only a pooler gives both the same process of the server */
    Examination(Connection connection, Connection other, boolean own, ServiceAnswer service, Clock clock)
            throws SQLException {
        this.connection = connection;
        this.pooled = backend(connection) == backend(other);
        this.own = own;
        this.service = service;

        FeedCheck.begin(connection);
        this.asked = clock.instant();
        this.facts = facts();
        this.answered = clock.instant();
        this.settings = facts.path("settings");
    }

    private JsonNode facts() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "select to_jsonb(facts) from (" + EXAMINE_DEPLOYMENT.text() + ") as facts")) {
            row.next();
            return new ObjectMapper().readTree(row.getString(1));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** @param logKey and streamsKey copies of the keys, or null */
    List<Finding> findings(@Nullable Path logKey, @Nullable Path streamsKey) throws SQLException {
        service();
        versions();
        logKey();
        logKeyCopy(logKey);
        streamsKey();
        streamsKeyCopy(streamsKey);
        databaseTls();
        serviceTls();
        roles();
        schema();
        replication();
        durability();
        collations();
        backups();
        clocks();
        pooler();
        timeZones();
        retention();
        verification();
        return findings;
    }

    /** The checks on the database alone, each with the name of the database. */
    List<Finding> ofMember(String name) throws SQLException {
        databaseTls();
        roles();
        schema();
        replication();
        durability();
        collations();
        backups();
        pooler();
        timeZones();
        return findings.stream()
                .map(found -> new Finding(name + ": " + found.check(), found.state(), found.found(), found.mend()))
                .toList();
    }

    private void ok(String check, String found) {
        findings.add(Finding.ok(check, found));
    }

    private void warn(String check, String found, String mend) {
        findings.add(Finding.warning(check, found, mend));
    }

    private void missing(String check, String found, String mend) {
        findings.add(Finding.missing(check, found, mend));
    }

    private String text(String fact) {
        return facts.path(fact).asText();
    }

    private long number(String fact) {
        return facts.path(fact).asLong();
    }

    private String names(String fact) {
        StringJoiner names = new StringJoiner(", ");
        facts.path(fact).forEach(name -> names.add(name.asText()));
        return names.toString();
    }

    private boolean isSet(String variable) {
        return settings.has(variable);
    }

    private boolean isOff(String variable) {
        return settings.path(variable).asText().equals("false");
    }

    private void service() {
        if (service.status() == 200) {
            ok("service", service.url() + " is ready.");
        } else if (service.status() == 0) {
            missing(
                    "service",
                    service.url() + " does not answer (" + service.failure() + ").",
                    "Start the service, or name it in ANNALS_URL or --service.");
        } else {
            missing(
                    "service",
                    service.url() + " is not ready (" + service.status() + ").",
                    "/q/health on the management port names the check that fails.");
        }
    }

    private void versions() {
        int major = facts.path("major").asInt();
        String program = version();
        String other = service.version().orElse("");
        if (!MAJORS.contains(major)) {
            missing("versions", "PostgreSQL " + text("version") + " is not supported.", "Use PostgreSQL 15 to 18.");
        } else if (!other.isEmpty() && !other.equals(program)) {
            warn(
                    "versions",
                    "The service has version " + other + ", and this program " + program + ".",
                    "Run the doctor of the service's version.");
        } else {
            ok("versions", "Annals " + program + ", PostgreSQL " + text("version") + ".");
        }
    }

    private static String version() {
        Properties built = new Properties();
        try (InputStream file = Examination.class.getResourceAsStream("/version.properties")) {
            built.load(Objects.requireNonNull(file, "every build writes version.properties"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return built.getProperty("annals");
    }

    private List<String> vkeys() {
        List<String> vkeys = new ArrayList<>();
        facts.path("log_keys").path("vkeys").forEach(vkey -> vkeys.add(vkey.asText()));
        return vkeys;
    }

    private void logKey() {
        List<String> vkeys = vkeys();
        if (vkeys.isEmpty()) {
            missing(
                    "log key",
                    "The last start had no log key, so records are not signed.",
                    "Set ANNALS_LOG_KEY_FILE to a file that annals log keygen has made.");
        } else if (number("halted") > 0) {
            missing(
                    "log key",
                    number("halted") + " logs are halted.",
                    "annals log resume or annals log next-epoch, as docs/operating.md#logs-that-readers-verify says.");
        } else if (isSet("ANNALS_LOG_KEY") && !isSet("ANNALS_LOG_SEEN_DIR")) {
            warn(
                    "log key",
                    "The key is in the environment, so no instance notes what it has signed.",
                    "Set ANNALS_LOG_KEY_FILE, or ANNALS_LOG_SEEN_DIR.");
        } else if (!own && VerifierKey.parse(vkeys.get(0)).name().matches("localhost[:/].*")) {
            warn(
                    "log key",
                    "Logs are named for localhost.",
                    "Set ANNALS_LOG_HOST before readers keep keys; later it begins other logs.");
        } else {
            ok(
                    "log key",
                    "Records are signed as " + VerifierKey.parse(vkeys.get(0)).name() + ".");
        }
    }

    private void logKeyCopy(@Nullable Path copy) throws SQLException {
        if (copy == null) {
            warn(
                    "log key's copy",
                    "No copy was compared. Without the key, no log can continue.",
                    "Keep a copy apart from backups of the database, and name it with --log-key.");
            return;
        }
        MasterKey key = KeyCopies.readLogKey(copy);
        KeyCopies.Fit fit = KeyCopies.logs(connection, key);
        boolean known = vkeys().isEmpty()
                || vkeys().stream()
                        .anyMatch(vkey -> key.of(VerifierKey.parse(vkey).name())
                                .verifier()
                                .toString()
                                .equals(vkey));
        if (known && fit.unopened() == 0) {
            ok("log key's copy", copy + " is the key of all " + fit.things() + " signed logs.");
        } else {
            missing(
                    "log key's copy",
                    copy + " is not the key of the service" + (fit.first() == null ? "" : ", and not of " + fit.first())
                            + ".",
                    "Copy the file of ANNALS_LOG_KEY_FILE again.");
        }
    }

    private void streamsKey() {
        if (own || isSet("ANNALS_STREAMS_KEY_FILE") || isSet("ANNALS_STREAMS_KEY")) {
            ok("streams key", number("streams_with_secret") + " streams have a secret.");
        } else {
            missing(
                    "streams key",
                    "The last start had no streams key: sinks cannot have secrets"
                            + (number("streams_with_secret") > 0
                                    ? ", and " + number("streams_with_secret") + " streams that have one stand still."
                                    : "."),
                    "Set ANNALS_STREAMS_KEY_FILE to a file with 64 hexadecimal digits: openssl rand -hex 32.");
        }
    }

    private void streamsKeyCopy(@Nullable Path copy) throws SQLException {
        if (copy == null) {
            warn(
                    "streams key's copy",
                    "No copy was compared. Without the key, each sink's secret has to be set again.",
                    "Keep a copy apart from backups of the database, and name it with --streams-key.");
            return;
        }
        KeyCopies.Fit fit = KeyCopies.streams(connection, copy);
        if (fit.unopened() == 0) {
            ok("streams key's copy", copy + " opens the secrets of all " + fit.things() + " streams.");
        } else {
            missing(
                    "streams key's copy",
                    copy + " does not open the secrets of " + fit.unopened() + " of " + fit.things()
                            + " streams, such as " + fit.first() + ".",
                    "Copy the file of ANNALS_STREAMS_KEY_FILE again, or set those streams with their secrets again.");
        }
    }

    private void databaseTls() {
        if (own) {
            ok("TLS to PostgreSQL", "The service's own PostgreSQL listens on this machine alone.");
        } else if (facts.path("logins").isEmpty()) {
            warn("TLS to PostgreSQL", "No instance is connected, so nothing was seen.", "Start the service.");
        } else if (!facts.path("sees").asBoolean()) {
            warn(
                    "TLS to PostgreSQL",
                    "The login may not see other sessions.",
                    "grant pg_read_all_stats to " + text("owner") + ", or run the doctor as a superuser.");
        } else if (!facts.path("plain").isEmpty()) {
            warn(
                    "TLS to PostgreSQL",
                    names("plain") + " is connected from another machine without TLS.",
                    "Set sslmode=verify-full and sslrootcert in ANNALS_DATABASE_URL, unless no one can listen on that network.");
        } else {
            ok("TLS to PostgreSQL", "Each session from another machine is encrypted.");
        }
    }

    private void serviceTls() {
        String publicUrl = settings.path("ANNALS_PUBLIC_URL").asText();
        if (!service.isPrivate()) {
            warn("TLS of the service", service.url() + " sends tokens in the clear.", "Put a proxy with TLS in front.");
        } else if (!publicUrl.isEmpty() && !ServiceAnswer.isPrivate(URI.create(publicUrl))) {
            warn(
                    "TLS of the service",
                    "ANNALS_PUBLIC_URL is " + publicUrl + ".",
                    "Put a proxy with TLS in front, and set ANNALS_PUBLIC_URL to https.");
        } else {
            ok("TLS of the service", service.url() + (publicUrl.isEmpty() ? "" : ", " + publicUrl) + ".");
        }
    }

    private void roles() {
        if (!facts.path("readers").isEmpty()) {
            missing(
                    "roles",
                    names("readers") + " may write plain SQL and do what only the service or the owner may.",
                    "Give each application a login that is a member of annals_writer alone.");
        } else if (own) {
            ok("roles", "The service's own PostgreSQL has one login.");
        } else if (!facts.path("powerful").isEmpty()) {
            missing(
                    "roles",
                    "Instances log in as " + names("powerful") + ", which may change records or the schema.",
                    "annals migrate --service-user=… and ANNALS_DATABASE_MIGRATE_AT_START=false.");
        } else if (facts.path("powerful_owner").asBoolean()) {
            warn(
                    "roles",
                    "The schema's owner " + text("owner") + " is a superuser.",
                    "Let an ordinary role own the database: docs/operating.md#users-of-the-database.");
        } else {
            ok("roles", "Owner " + text("owner") + ", service " + names("logins") + ".");
        }
    }

    private void schema() throws SQLException {
        List<String> differences = ShippedSchema.differences(connection);
        if (differences.isEmpty()) {
            ok("schema", "Tables, triggers, functions and privileges are those of this version.");
        } else {
            missing(
                    "schema",
                    differences.size() + " differences, such as: " + differences.get(0),
                    "annals migrate, then annals verify.");
        }
    }

    private void replication() {
        boolean synchronous = !text("synchronous").isEmpty();
        if (facts.path("standby").asBoolean()) {
            warn("replication", "This database is a hot standby.", "Run the doctor on the primary.");
        } else if (synchronous
                && number("synchronous_standbys") == 0
                && facts.path("sees").asBoolean()) {
            missing(
                    "replication",
                    "Commits wait for " + text("synchronous") + ", and no such standby follows.",
                    "Start the standby, or change synchronous_standby_names.");
        } else if (synchronous) {
            ok(
                    "replication",
                    "Commits wait for " + text("synchronous") + "; " + number("standbys") + " standbys follow.");
        } else if (settings.path("ANNALS_LOG_TRUST_PROMOTION").asText().equals("true")) {
            missing(
                    "replication",
                    "ANNALS_LOG_TRUST_PROMOTION is on, and no standby is synchronous: a promoted one may lack signed records.",
                    "Set synchronous_standby_names, or unset ANNALS_LOG_TRUST_PROMOTION.");
        } else {
            warn(
                    "replication",
                    "No standby is synchronous (" + number("standbys")
                            + " follow): records that it lacks are lost with the server.",
                    "Set synchronous_standby_names: docs/high-availability.md.");
        }
    }

    private void durability() {
        for (String setting : List.of("fsync", "full_page_writes")) {
            if (!text(setting).equals("on")) {
                missing(
                        "durability",
                        setting + " is off: a crash of the machine can lose or damage answered records.",
                        "alter system set " + setting + " = on; select pg_reload_conf().");
                return;
            }
        }
        if (number("prepared") > 0) {
            warn(
                    "durability",
                    "max_prepared_transactions is " + number("prepared") + ": a forgotten one blocks its project.",
                    "Set it to 0, or watch pg_prepared_xacts.");
        } else if (!text("checksums").equals("on")) {
            warn("durability", "data_checksums is off.", "Stop PostgreSQL and run pg_checksums --enable.");
        } else {
            ok("durability", "fsync, full_page_writes and data_checksums are on.");
        }
    }

    private void collations() throws SQLException {
        List<StaleCollation> stale = StaleCollation.find(connection);
        if (stale.isEmpty()) {
            ok("collations", "Their versions are those with which the database was made.");
        } else if (stale.get(0).index() != null) {
            missing(
                    "collations",
                    stale.get(0) + ": rows may not be found.",
                    "reindex schema annals, then alter database … refresh collation version.");
        } else {
            warn(
                    "collations",
                    stale.get(0) + ". The indexes of Annals do not depend on it; those of other schemas may.",
                    "Reindex the others, then alter database … refresh collation version.");
        }
    }

    private void backups() {
        if (own) {
            warn(
                    "backups",
                    "Nothing tells whether copies are made.",
                    "Copy the data directory regularly: docs/operating.md#backups.");
        } else if (text("archive_mode").equals("off")) {
            warn(
                    "backups",
                    "archive_mode is off, so a backup brings back nothing that was written after it.",
                    "Archive the write-ahead log: docs/operating.md#a-server-of-your-own.");
        } else {
            ok("backups", "The write-ahead log is archived.");
        }
    }

    private void clocks() {
        Instant database =
                Objects.requireNonNull(Timestamps.parseInput(text("now"))).toInstant();
        Duration ofDatabase = distance(database, database, asked, answered);
        Duration ofService = service.date()
                .map(date -> distance(date, date.plusSeconds(1), service.asked(), service.answered()))
                .orElse(Duration.ZERO);
        Duration worst = ofDatabase.compareTo(ofService) > 0 ? ofDatabase : ofService;
        String found = "Against this machine, the clock of "
                + (worst.equals(ofService) && !worst.equals(ofDatabase) ? "the service" : "the database")
                + " is off by "
                + worst.toSeconds() + " s.";
        String mend = "Synchronize the clocks of the database, the service and this machine with a time server.";
        if (worst.compareTo(CLOCKS_ARE_WRONG) > 0) {
            missing("clocks", found, mend);
        } else if (worst.compareTo(CLOCKS_DIFFER) > 0) {
            warn("clocks", found, mend);
        } else if (service.date().isEmpty()) {
            warn("clocks", "The clock of the service was not seen.", "Start the service, or name it in --service.");
        } else {
            ok("clocks", "Database, service and this machine agree.");
        }
    }

    /** The least possible difference of a clock that showed a time in a span, at a moment of another span. */
    private static Duration distance(Instant earliest, Instant latest, Instant asked, Instant answered) {
        if (latest.isBefore(asked)) {
            return Duration.between(latest, asked);
        }
        return earliest.isAfter(answered) ? Duration.between(answered, earliest) : Duration.ZERO;
    }

    private void pooler() throws SQLException {
        StringJoiner lacking = new StringJoiner("; ");
        facts.path("pooled").properties().forEach(login -> {
            Set<String> names = new TreeSet<>(DatabaseCheck.settingsOfLogin());
            login.getValue().forEach(setting -> names.remove(setting.asText().replaceAll("=.*", "")));
            if (!names.isEmpty()) {
                lacking.add(login.getKey() + " lacks " + String.join(", ", names));
            }
        });
        if (lacking.length() > 0) {
            missing(
                    "pooler",
                    "A pooler drops startup parameters, and " + lacking + ".",
                    "alter role … set …, as docs/operating.md#through-pgbouncer lists.");
        } else if (pooled) {
            warn(
                    "pooler",
                    "This command is connected through a pooler in transaction mode.",
                    "Migrate and examine without it: name PostgreSQL itself in ANNALS_DATABASE_URL.");
        } else {
            ok("pooler", facts.path("pooled").isEmpty() ? "None was seen." : "Its login has all settings.");
        }
    }

    private static int backend(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("select pg_backend_pid()")) {
            row.next();
            return row.getInt(1);
        }
    }

    private void timeZones() {
        if (own || UTC.contains(text("log_timezone"))) {
            ok("time zones", "Days are those of UTC" + (own ? "." : ", also in PostgreSQL's log."));
        } else {
            warn(
                    "time zones",
                    "Days are those of UTC, and PostgreSQL's log has times of " + text("log_timezone") + ".",
                    "alter system set log_timezone = 'UTC'; select pg_reload_conf().");
        }
    }

    private void retention() {
        long limited = number("projects") - number("kept_for_ever");
        if (limited > 0 && isOff("ANNALS_RETENTION_ENABLED")) {
            missing(
                    "retention",
                    "ANNALS_RETENTION_ENABLED is off, so the expired records of " + limited + " projects stay.",
                    "Unset it on one instance at least.");
        } else if (number("removed_without_archive") > 0) {
            warn(
                    "retention",
                    number("removed_without_archive") + " projects remove records that need not be in an archive.",
                    "annals project set … --archive-required, and annals archive: docs/retention.md.");
        } else {
            ok("retention", number("kept_for_ever") + " of " + number("projects") + " projects keep records for ever.");
        }
    }

    private void verification() {
        if (number("unsound") > 0) {
            missing("verification", number("unsound") + " projects have findings.", "annals verify names them.");
        } else if (isOff("ANNALS_VERIFICATION_ENABLED")) {
            warn("verification", "The last start does not verify.", "Unset ANNALS_VERIFICATION_ENABLED.");
        } else {
            ok("verification", "No findings.");
        }
    }
}
