package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Binds have names, in files and in code, and a statement runs only with all of them. */
class SqlTest {

    private static final String HEADER = """
            -- Two binds.
            --
            -- :id    uuid     whose
            -- :name  text     which
            --
            -- Rows named as :name says.
            """;

    @Test
    void eachNameBecomesTheNumberOfItsDeclarationWhereverItStands() {
        Sql sql = Sql.of("two", HEADER + "select :name, :id::uuid\nwhere a = :name and b=:id");

        assertThat(sql.text()).isEqualTo("select $2, $1::uuid\nwhere a = $2 and b=$1");
        assertThat(sql.jdbcText()).isEqualTo("select ?, ?::uuid\nwhere a = ? and b=?");
        assertThat(sql.jdbcPlaces()).containsExactly(1, 0, 1, 0);
    }

    @Test
    void colonsOfCastsSlicesTextsAndQuotedNamesAreNoBinds() {
        String rest =
                "x::text, a[1:name], a[f(1):name], a[1 :], ':name it''s :id', \":name\", $$ :name $$, $t$ :id $$ $t$";

        assertThat(Sql.of("two", HEADER + "select :id, :name, " + rest).text()).isEqualTo("select $1, $2, " + rest);
    }

    @Test
    void commentsAreNotSent() {
        Sql sql =
                Sql.of("two", HEADER + "select :id, -- :other isn't there\n  -- nor :here\n  /* nor\n :there */ :name");

        assertThat(sql.text()).isEqualTo("select $1,\n   $2");
    }

    @Test
    void aStatementThatDoesNotUseWhatItDeclaresIsNotLoaded() {
        assertThatThrownBy(() -> Sql.of("two", HEADER + "select :id"))
                .hasMessage("two.sql declares :name twice, or does not use it");
        assertThatThrownBy(() -> Sql.of("two", HEADER + "-- :id  uuid\nselect :id, :name"))
                .hasMessage("two.sql declares :id twice, or does not use it");
        assertThatThrownBy(() -> Sql.of("two", HEADER + "select :id, :name, :other"))
                .hasMessage("two.sql declares no bind :other");
        assertThatThrownBy(() -> Sql.named("absent")).hasMessage("missing resource /sql/absent.sql");
    }

    @Test
    void aConditionTakesThePlaceThatTheFileHasForIt() {
        String file = "-- :terms  text[]\nselect 1 where /* condition */ :terms::text[] is null and true";

        assertThat(Sql.of("one", file).text()).isEqualTo("select 1 where  $1::text[] is null and true");
        assertThat(Sql.of("one", file).narrowed("(:terms::text[])[1] = '$0\\'").text())
                .isEqualTo("/* once */ select 1 where ($1::text[])[1] = '$0\\' and true");
        assertThatThrownBy(() -> Sql.of("none", "-- :id  uuid\nselect :id").narrowed("true"))
                .hasMessage("none.sql takes no condition");
    }

    @Test
    void anIncludedFileBringsItsBinds() {
        Sql sql = Sql.of("one", "-- :limit  integer\nselect 1 where /* include core/query/passes */\nlimit :limit");

        assertThat(sql.text())
                .doesNotContain("/*")
                .contains("\"timestamp\" >= $2", "host(r.ip_address) = $8", "limit $1");
        assertThat(sql.narrowed("(:terms::text[])[1] = r.action").text()).contains("and ($13::text[])[1] = r.action");
        assertThatThrownBy(() -> Sql.of("one", "select 1 where /* include absent */"))
                .hasMessage("missing resource /sql/absent.sql");
    }

    @Test
    void valuesTakeThePlacesOfTheirNamesInAnyOrder() {
        UUID id = UUID.randomUUID();
        Sql sql = Sql.of("two", HEADER + "select :id, :name");

        assertThat(values(sql.bind("id", id).bind("name", "a"))).containsExactly(id, "a");
        assertThat(values(sql.bind("name", null).bind("id", id))).containsExactly(id, null);
    }

    @Test
    void aMissingAnUnknownAndADoubledNameFailAtOnce() {
        Sql sql = Sql.of("two", HEADER + "select :id, :name");

        assertThatThrownBy(sql.bind("name", "a")::tuple).hasMessage("two.sql: the bind :id is not set");
        assertThatThrownBy(() -> sql.bind("nam", "a")).hasMessage("two.sql declares no bind :nam");
        assertThatThrownBy(() -> sql.bind("id", null).bind("id", "a")).hasMessage("two.sql: the bind :id is set twice");
    }

    @Test
    void everyFileIsLoadedAndHasNoNumberedBind() throws IOException, URISyntaxException {
        Path directory =
                Path.of(Objects.requireNonNull(Sql.class.getResource("/sql")).toURI());
        List<String> names;
        try (Stream<Path> files = Files.walk(directory)) {
            names = files.map(file -> directory.relativize(file).toString())
                    .filter(file -> file.endsWith(".sql"))
                    .map(file -> file.replace(".sql", ""))
                    .toList();
        }

        assertThat(names).hasSizeGreaterThan(40);
        for (String name : names) {
            assertThat(Files.readString(directory.resolve(name + ".sql")))
                    .as(name)
                    .doesNotContainPattern("\\$[0-9]");
            assertThat(Sql.named(name).text()).as(name).doesNotContain("--").doesNotContainPattern("[^:]:[a-z]");
        }
    }

    private static List<Object> values(Binds binds) {
        return Stream.iterate(0, place -> place + 1)
                .limit(binds.tuple().size())
                .map(place -> binds.tuple().getValue(place))
                .toList();
    }
}
