package dev.annals.hostile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.Await;
import dev.annals.PackagedService;
import dev.annals.SqlFixture;
import dev.annals.kernel.database.DatabaseUrl;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The packaged service with a heap of 256 MiB, and a member whose owner attacks it. An honest client uses home all the time. */
@Order(2)
@Timeout(400)
class SurviveHostileMembersIT {

    @TempDir
    static Path directory;

    private static PackagedService service;
    private static HonestClient honest;

    @BeforeAll
    static void start() throws Exception {
        service = new PackagedService(
                directory.resolve("data"),
                Map.of("ANNALS_DATABASES", "main,east"),
                "-XX:TieredStopAtLevel=1",
                "-Xmx256m");
        honest = new HonestClient(service.uri(), service.token());
        honest.goesOn();
    }

    @AfterAll
    static void stop() throws Exception {
        if (honest != null) {
            honest.close();
        }
        if (service != null) {
            service.close();
        }
    }

    private static SqlFixture member() throws Exception {
        Path url = directory.resolve("data").resolve("east").resolve("database-url");
        return SqlFixture.on(DatabaseUrl.parse(Files.readString(url).strip()));
    }

    @Test
    void functionsWhoseAnswersHaveNoEnd() throws Exception {
        Await.until(
                "the member is used",
                () -> service.output().stream().anyMatch(line -> line.contains("1 of 1 members are used")));
        List<String> functions = member().texts("""
                select pg_get_functiondef(oid) from pg_proc
                where pronamespace = 'annals'::regnamespace and proname = 'note_stream_deaths'
                """);
        member().runEach("""
                create or replace function annals.note_stream_deaths(instance uuid, most integer) returns setof annals.stream
                language sql security definer set search_path = pg_catalog, pg_temp
                as $$ select (null::annals.stream).* from generate_series(1, 5000000) $$
                """);
        Await.until(
                "the member is not used any more",
                () -> service.output().stream()
                        .anyMatch(line -> line.contains("is not used for") && line.contains("answers with more than")));
        honest.goesOn();
        assertThat(service.isAlive()).isTrue();
        assertThat(service.output()).noneMatch(line -> line.contains("OutOfMemory") || line.contains("OutOfDirect"));

        member().runEach(functions.get(0));
        honest.goesOn();
    }
}
