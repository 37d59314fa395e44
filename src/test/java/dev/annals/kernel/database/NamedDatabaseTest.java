package dev.annals.kernel.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.annals.BesideTheService;
import io.smallrye.config.EnvConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

@BesideTheService
class NamedDatabaseTest {

    private static final String HOME = "postgresql://annals:one@home/annals";
    private static final String EAST = "postgresql://annals:two@east/annals";

    @Test
    void withoutNamesThereIsOneDatabase() {
        assertThat(all(Map.of()))
                .singleElement()
                .satisfies(main -> assertThat(main.name()).isEqualTo("main"))
                .satisfies(main -> assertThat(main.url()).isEmpty());
    }

    @Test
    void eachMemberHasVariablesOfItsOwn() {
        List<NamedDatabase> all = all(Map.of(
                "ANNALS_DATABASES", "main,far-east",
                "ANNALS_DATABASES_FAR_EAST_TRUSTED", "true",
                "ANNALS_DATABASE_URL", HOME,
                "ANNALS_READ_DATABASE_URL", "postgresql://annals@replica/annals",
                "ANNALS_DATABASES_FAR_EAST_URL", EAST,
                "ANNALS_DATABASES_FAR_EAST_READ_URL", "postgresql://annals@a,b/annals",
                "ANNALS_DATABASES_FAR_EAST_PINNED", "true"));

        assertThat(all).extracting(NamedDatabase::name).containsExactly("main", "far-east");
        assertThat(all.get(0).url()).contains(DatabaseUrl.parse(HOME));
        assertThat(all).extracting(NamedDatabase::pinned).containsExactly(false, true);
        assertThat(all.get(0).standbys()).map(DatabaseUrl::host).contains("replica");
        assertThat(all.get(1).url()).contains(DatabaseUrl.parse(EAST));
        assertThat(all.get(1).standbys()).map(DatabaseUrl::target).contains(DatabaseUrl.Target.PREFER_STANDBY);
    }

    @Test
    void onlyHomeAndDatabasesOfTheServiceItselfAreTrustedByThemselves() {
        assertThat(all(Map.of("ANNALS_DATABASES", "main,own", "ANNALS_DATABASES_EAST_URL", EAST)))
                .extracting(NamedDatabase::trusted)
                .containsExactly(true, true);
        Map<String, String> apart =
                Map.of("ANNALS_DATABASES", "main,east", "ANNALS_DATABASE_URL", HOME, "ANNALS_DATABASES_EAST_URL", EAST);
        assertThat(all(apart)).extracting(NamedDatabase::trusted).containsExactly(true, false);
        Map<String, String> trusted = new HashMap<>(apart);
        trusted.put("ANNALS_DATABASES_EAST_TRUSTED", "true");
        assertThat(all(trusted)).extracting(NamedDatabase::trusted).containsExactly(true, true);
        trusted.put("ANNALS_DATABASES_EAST_TRUSTED", "yes");
        assertThatThrownBy(() -> all(trusted)).hasMessage("ANNALS_DATABASES_EAST_TRUSTED is neither true nor false.");
    }

    @Test
    void aNameThatIsNotUsableOrNamedTwiceIsRefused() {
        for (String wrong : List.of(
                "East", "1east", "east_1", "east-", "east-read", "a".repeat(32), "ö", "main", "a b", "../east")) {
            assertThatThrownBy(() -> all(Map.of("ANNALS_DATABASES", "main," + wrong)))
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("ANNALS_DATABASES", wrong);
        }
        assertThat(all(Map.of("ANNALS_DATABASES", "main,e-2,a" + "b".repeat(30))))
                .hasSize(3);
    }

    @Test
    void oneHundredAndTwentyEightDatabasesAreTheMost() {
        assertThat(all(Map.of("ANNALS_DATABASES", names(128)))).hasSize(128);
        assertThatThrownBy(() -> all(Map.of("ANNALS_DATABASES", names(129)))).hasMessageContaining("129");
    }

    @Test
    void messagesNameTheMembersVariableAndNoPassword() {
        assertThatThrownBy(() -> all(Map.of(
                        "ANNALS_DATABASES", "main,east",
                        "ANNALS_DATABASES_EAST_URL", "mysql://annals:secret@east/annals")))
                .hasMessageContaining("ANNALS_DATABASES_EAST_URL")
                .hasMessageNotContaining("secret");
        assertThatThrownBy(() -> all(Map.of(
                        "ANNALS_DATABASES", "main,east",
                        "ANNALS_DATABASES_EAST_URL", "postgresql://annals@east/annals",
                        "ANNALS_DATABASES_EAST_PASSWORD_FILE", "/nowhere")))
                .hasMessageContaining("ANNALS_DATABASES_EAST_PASSWORD_FILE");
    }

    @Test
    void aMemberWithoutUrlBesideAHomeWithOneIsRefused() {
        List<NamedDatabase> all = all(Map.of("ANNALS_DATABASES", "main,east", "ANNALS_DATABASE_URL", HOME));

        assertThatThrownBy(() -> NamedDatabase.requireUrls(all))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ANNALS_DATABASES_EAST_URL");
    }

    private static String names(int number) {
        return IntStream.range(0, number).mapToObj(i -> "d" + i).collect(Collectors.joining(","));
    }

    private static List<NamedDatabase> all(Map<String, String> environment) {
        return NamedDatabase.all(new SmallRyeConfigBuilder()
                .withSources(new EnvConfigSource(environment, 300))
                .addDefaultInterceptors()
                .build());
    }
}
