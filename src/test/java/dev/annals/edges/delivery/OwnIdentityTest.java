package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An entry of the settings names its own place, and no other that begins as it does. */
@BesideTheService
class OwnIdentityTest {

    private static final List<String> NAMED = List.of(
            "s3+https://s3.example.org/bucket/audit",
            "s3+https://s3.example.org/open/*",
            "kafka://one.example.org:9093,two.example.org:9093/audit",
            "postgresql://annals@db.example.org/audit");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "s3+https://s3.example.org/bucket/audit",
                "s3+https://s3.example.org/bucket/audit/?region=eu-central-1",
                "s3+https://s3.example.org/open",
                "s3+https://s3.example.org/open/a/b?region=eu-central-1",
                "kafka://one.example.org:9093,two.example.org:9093/audit?tls=mutual",
                "postgresql://annals@db.example.org/audit?sslcertmode=require"
            })
    void itsOwnPlaceIsNamed(String url) {
        assertThat(OwnIdentity.names(NAMED, url)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "s3+https://s3.example.org/bucket",
                "s3+https://s3.example.org/bucket/audit/deeper",
                "s3+https://s3.example.org/bucket/audits",
                "s3+https://s3.example.org/open-for-all",
                "s3+https://s3.example.org/bucket/?/audit",
                "s3+https://s3.example.org:444/open/a",
                "s3+https://s3.example.org.evil.example/open/a",
                "s3+http://s3.example.org/open/a",
                "kafka://one.example.org:9093/audit?tls=mutual",
                "kafka://one.example.org:9093,two.example.org:9093,evil.example:9093/audit?tls=mutual",
                "kafka://one.example.org:9093,two.example.org:9093/auditing?tls=mutual",
                "postgresql://postgres@db.example.org/audit?sslcertmode=require",
                "postgresql://annals@db.example.org:5433/audit?sslcertmode=require"
            })
    void anotherPlaceIsNot(String url) {
        assertThat(OwnIdentity.names(NAMED, url)).isFalse();
    }
}
