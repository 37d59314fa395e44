package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.kernel.database.DatabaseUrl.Server;
import dev.annals.kernel.database.DatabaseUrl.Target;
import io.smallrye.config.SmallRyeConfig;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DatabaseUrlTest {

    @Test
    void everyPartIsReadAndPercentDecoded() {
        DatabaseUrl url = DatabaseUrl.parse("postgresql://j%40ne:p%3A%2F+%C3%A4%25@db.example.org:6543/audit%20log");

        assertThat(url).isEqualTo(new DatabaseUrl("j@ne", "p:/+ä%", "db.example.org", 6543, "audit log", Map.of()));
        assertThat(url.jdbcUrl()).isEqualTo("jdbc:postgresql://db.example.org:6543/audit%20log?sslmode=require");
        assertThat(url.reactiveUrls()).containsExactly("postgresql://db.example.org:6543/audit%20log");
        assertThat(DatabaseUrl.parse(url.withPassword())).isEqualTo(url);
    }

    @Test
    void thePortAndThePasswordMayBeLeftOut() {
        DatabaseUrl url = DatabaseUrl.parse("postgres://annals@[::1]/annals?sslmode=require");

        assertThat(url.port()).isEqualTo(5432);
        assertThat(url.password()).isEmpty();
        assertThat(url.host()).isEqualTo("::1");
        assertThat(url.jdbcUrl()).isEqualTo("jdbc:postgresql://[::1]:5432/annals?sslmode=require");
    }

    @Test
    void severalServersAreReadAndThePrimaryOfThemIsMeant() {
        DatabaseUrl url = DatabaseUrl.parse("postgresql://u,v:p,%40@db1:6543,[::1],db3/d");

        assertThat(url)
                .isEqualTo(new DatabaseUrl(
                        "u,v",
                        "p,@",
                        List.of(new Server("db1", 6543), new Server("::1", 5432), new Server("db3", 5432)),
                        "d",
                        Map.of()));
        assertThat(url.target()).isEqualTo(Target.PRIMARY);
        assertThat(url.jdbcUrl())
                .startsWith("jdbc:postgresql://db1:6543,[::1]:5432,db3:5432/d?sslmode=require&")
                .contains("&targetServerType=primary");
        assertThat(url.reactiveUrls())
                .containsExactly("postgresql://db1:6543/d", "postgresql://[::1]:5432/d", "postgresql://db3:5432/d");
        assertThat(url).hasToString("postgresql://u%2Cv@db1:6543,[::1]:5432,db3:5432/d");
        assertThat(DatabaseUrl.parse(url.withPassword())).isEqualTo(url);
        assertThat(DatabaseUrl.parse("postgresql://u@127.0.0.1,localhost/d").sslMode())
                .isEqualTo("prefer");
        assertThat(DatabaseUrl.parse("postgresql://u@127.0.0.1,db/d").sslMode()).isEqualTo("require");
    }

    @ParameterizedTest
    @CsvSource({
        "a, , ANY",
        "'a,b', , PRIMARY",
        "'a,b', any, ANY",
        "a, read-write, PRIMARY",
        "a, primary, PRIMARY",
        "'a,b', read-only, STANDBY",
        "'a,b', standby, STANDBY",
        "'a,b', prefer-standby, PREFER_STANDBY"
    })
    void theUrlSaysWhichServerIsMeantAsLibpqDoes(String hosts, String attributes, Target target) {
        String query = attributes == null ? "" : "?target_session_attrs=" + attributes;

        assertThat(DatabaseUrl.parse("postgresql://u@" + hosts + "/d" + query).target())
                .isEqualTo(target);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    mysql://u:s3cret@h/d                        | does not start with postgresql://
                    s3cret                                      | does not start with postgresql://
                    postgresql://h:5432/d                       | names no user
                    postgresql://:s3cret@h/d                    | names no user
                    postgresql://u:s3cret@h                     | names no database
                    postgresql://u:s3cret@h/                    | names no database
                    postgresql://u:s3cret@h/a/b                 | more than one
                    postgresql://u:s3cret@h:0/d                 | port 0 is not between 1 and 65535
                    postgresql://u:s3cret@h:70000/d             | port 70000 is not between 1 and 65535
                    postgresql://u:s3cret@h:port/d              | host or port cannot be read
                    postgresql://u:s3cret@@h/d                  | host or port cannot be read
                    postgresql:///d                             | names no host
                    postgresql://u:s3cret %@h/d                 | is not allowed there
                    postgresql://u:s3cret%zz@h/d                | is not allowed there
                    postgresql://u:s3cret%ff@h/d                | are not UTF-8
                    postgresql://u:s3cret%ef%bf%bd@h/d          | are not UTF-8
                    postgresql://u:s3cret%00@h/d                | contains %00
                    postgresql://u:s3cret@h/d?sslmode=maybe     | its sslmode 'maybe' is none of disable, allow
                    postgresql://u:s3cret@h/d?sslmode=verify-ca | needs sslrootcert
                    postgresql://u:s3cret@h/d?options=x         | its parameter 'options' is not known
                    postgresql://u:s3cret@h,/d                  | host or port cannot be read
                    postgresql://u:s3cret@h:1,h:0/d             | port 0 is not between 1 and 65535
                    postgresql://u:s3cret@h/d?target_session_attrs=best | is none of any, prefer-standby, primary, read-only
                    postgresql://u:s3cret@a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/d | names 17 servers and may name 16
                    """)
    void aWrongUrlGetsOneSentenceThatNeverShowsThePassword(String url, String reason) {
        assertThatThrownBy(() -> DatabaseUrl.parse(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ANNALS_DATABASE_URL")
                .hasMessageContaining(reason)
                .satisfies(e -> assertThat(stackTrace(e)).doesNotContain("s3cret"));
    }

    @ParameterizedTest
    @CsvSource({
        "localhost, prefer",
        "LocalHost, prefer",
        "127.0.0.1, prefer",
        "127.9.9.9, prefer",
        "[::1], prefer",
        "[0:0:0:0:0:0:0:1], prefer",
        "database, require",
        "127.0.0.1.example.org, require",
        "localhost.example.org, require",
        "10.0.0.1, require",
        "0.0.0.0, require",
        "[::2], require",
        "[fe80::1], require"
    })
    void connectionsOverANetworkAreEncryptedUnlessTheUrlSaysOtherwise(String host, String mode) {
        DatabaseUrl url = DatabaseUrl.parse("postgresql://u:p@" + host + "/d");
        assertThat(url.sslMode()).isEqualTo(mode);
        assertThat(url.jdbcUrl()).endsWith("?sslmode=" + mode);
        assertThat(DatabaseUrlConfigSource.settings(url))
                .containsEntry("quarkus.datasource.reactive.postgresql.ssl-mode", mode);

        assertThat(DatabaseUrl.parse("postgresql://u:p@" + host + "/d?sslmode=disable")
                        .sslMode())
                .isEqualTo("disable");
    }

    @Test
    void thePasswordOfAFileIsItsOneLine(@TempDir Path directory) throws IOException {
        Path file = Files.writeString(directory.resolve("password"), "s3c$ret/@\n");
        Map<String, String> settings = new HashMap<>(
                Map.of("annals.database-url", "postgresql://u@h/d", "annals.database-password-file", file.toString()));

        assertThat(DatabaseUrl.read(settings::get).orElseThrow().password()).isEqualTo("s3c$ret/@");

        Files.writeString(file, "two\nlines");
        assertThatThrownBy(() -> DatabaseUrl.read(settings::get)).hasMessageContaining("on one line");
        settings.put("annals.database-url", "postgresql://u:s3cret@h/d");
        assertThatThrownBy(() -> DatabaseUrl.read(settings::get))
                .hasMessageContaining("leave one out")
                .hasMessageNotContaining("s3cret");
        settings.remove("annals.database-url");
        assertThatThrownBy(() -> DatabaseUrl.read(settings::get)).hasMessageContaining("name the database, too");
    }

    @Test
    void theUrlIsPrintedWithoutItsPassword() {
        assertThat(DatabaseUrl.parse("postgresql://u:s3cret@h/d")).hasToString("postgresql://u@h:5432/d");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a$b", "${user.home}", "$${x}", "back\\slash", "\\${x}", "a,b", " spaced "})
    void aPasswordReachesTheDataSourcesAsItIs(String password) {
        DatabaseUrl url = new DatabaseUrl("u", password, "h", 5432, "d", Map.of());

        SmallRyeConfig config = new SmallRyeConfigBuilder()
                .addDefaultInterceptors()
                .withDefaultValue(DatabaseUrlConfigSource.DATABASE_URL, url.withPassword())
                .withSources(new DatabaseUrlConfigSource())
                .build();

        assertThat(config.getValue("quarkus.datasource.password", String.class)).isEqualTo(password);
        assertThat(config.getValue("quarkus.datasource.username", String.class)).isEqualTo("u");
        assertThat(config.getValue("quarkus.datasource.reactive.url", String.class))
                .isEqualTo("postgresql://h:5432/d");
    }

    @Test
    void aUrlThatAsksForVerificationMakesThePoolVerify() {
        Map<String, String> settings = DatabaseUrlConfigSource.settings(
                DatabaseUrl.parse("postgresql://u:p@h/d?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem"));

        assertThat(settings)
                .containsEntry("quarkus.datasource.reactive.postgresql.ssl-mode", "verify-full")
                .containsEntry("quarkus.datasource.reactive.hostname-verification-algorithm", "HTTPS")
                .containsEntry("quarkus.datasource.reactive.trust-certificate-pem.certs", "/etc/ca.pem")
                .doesNotContainKey("quarkus.datasource.reactive.trust-all");
    }

    private static String stackTrace(Throwable e) {
        StringWriter text = new StringWriter();
        e.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
