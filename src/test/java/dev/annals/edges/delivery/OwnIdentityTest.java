package dev.annals.edges.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An entry of the settings names its own place, and no other that begins as it does. */
@BesideTheService
class OwnIdentityTest {

    private static final List<String> NAMED = List.of(
            "s3+https://s3.example.org/bucket/audit",
            "s3+https://s3.example.org/open/*",
            "s3+https://[2001:db8::1]/open/*",
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

    /** Texts that begin as an entry does, or that some software holds for the same place. */
    @ParameterizedTest
    @CsvSource({
        "S3, s3+https://s3.example.org/open/../bucket",
        "S3, s3+https://s3.example.org/open/%2e%2e/bucket",
        "S3, s3+https://s3.example.org/open/a%2F..%2F..%2Fbucket",
        "S3, s3+https://s3.example.org/open/./a",
        "S3, s3+https://s3.example.org/open//a",
        "S3, s3+https://s3.example.org/open/a#/b",
        "S3, s3+https://s3.example.org/open/a?region=eu-central-1&x=y",
        "S3, s3+https://s3.example.org/open/a?region=eu-central-1%0a",
        "S3, s3+https://S3.EXAMPLE.ORG/open/a",
        "S3, S3+HTTPS://s3.example.org/open/a",
        "S3, s3+https://s3.example.org./open/a",
        "S3, s3+https://s3.example.org:443/open/a",
        "S3, s3+https://user@s3.example.org/open/a",
        "S3, s3+https://s3.example.org@evil.example/open/a",
        "S3, s3+https://s3.example.org/open/a@evil.example/b",
        "S3, s3+https://s3.example.org\\@evil.example/open/a",
        "S3, s3+https://[::ffff:192.0.2.1]/open/a",
        "S3, s3+https://[2001:db8:0::1]/open/a",
        "S3, s3+https://[2001:DB8::1]/open/a",
        "KAFKA, 'kafka://ONE.example.org:9093,two.example.org:9093/audit?tls=mutual'",
        "KAFKA, 'kafka://two.example.org:9093,one.example.org:9093/audit?tls=mutual'",
        "KAFKA, 'kafka://one.example.org:9093,two.example.org:9093/audit/?tls=mutual'",
        "KAFKA, 'kafka://one.example.org:9093,two.example.org:9093/audit?tls=mutual&tls=true'",
        "POSTGRESQL, postgresql://annals@DB.example.org/audit?sslcertmode=require",
        "POSTGRESQL, postgresql://annals@db.example.org:5432/audit?sslcertmode=require",
        "POSTGRESQL, postgresql://annals@db.example.org/%61udit?sslcertmode=require",
        "POSTGRESQL, postgresql://annals@db.example.org/audit/?sslcertmode=require",
        "POSTGRESQL, postgresql://annals@db.example.org/audit@evil.example/x?sslcertmode=require",
        "POSTGRESQL, postgresql://annals:x@db.example.org/audit?sslcertmode=require",
        "POSTGRESQL, postgres://annals@db.example.org/audit?sslcertmode=require"
    })
    void aTrickLeadsToNoPlaceThatIsNamed(SinkType type, String url) {
        List<String> wrong = new ArrayList<>();
        type.check(StreamFormat.JSON, url, null, (field, detail) -> wrong.add(field));
        assertThat(OwnIdentity.names(NAMED, url) && wrong.isEmpty()).isFalse();
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
