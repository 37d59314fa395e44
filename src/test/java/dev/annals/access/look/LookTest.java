package dev.annals.access.look;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.hamcrest.Matchers.equalTo;
import static org.hamcrest.Matchers.hasSize;
import static org.hamcrest.Matchers.nullValue;

import dev.annals.AuditLogFixture;
import dev.annals.ProjectTest;
import io.quarkus.test.junit.QuarkusTest;
import io.restassured.response.Response;
import io.restassured.specification.RequestSpecification;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A look is bounded, contains no document and no other host's address, and lets exactly its embedders show the project's links. */
@QuarkusTest
public class LookTest extends ProjectTest {

    /** 8 by 4 pixels. */
    public static final String PNG =
            "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAECAIAAAA8r+mnAAAAEUlEQVR4nGOQDj+CFTFQTwIAfS0mwT+hn4MAAAAASUVORK5CYII=";

    private static final int MAX_BYTES = 32_768;

    private static RequestSpecification with(String token) {
        return given().auth().preemptive().oauth2(token).contentType("application/json");
    }

    private String path() {
        return "/v1/projects/" + project.id() + "/look";
    }

    private Response set(String body) {
        return with(AuditLogFixture.ADMIN_TOKEN).body(body).put(path());
    }

    private Response setLogo(byte[] image) {
        return set("{\"logo\": \"" + Base64.getEncoder().encodeToString(image) + "\"}");
    }

    @Test
    void aLookIsReplacedAsAWholeAndShownToReaders() {
        set("{\"name\": \"Shop\", \"colour\": \"#1b57c4\", \"logo\": \"" + PNG
                        + "\", \"embedders\": [\"https://app.example.org\"]}")
                .then()
                .statusCode(200);
        with(log.newToken(project.id(), "read"))
                .get("/v1/look")
                .then()
                .statusCode(200)
                .body("name", equalTo("Shop"))
                .body("logo", equalTo(PNG))
                .body("whole_project", equalTo(true))
                .body("capabilities", equalTo(List.of("read", "export")));
        set("{}").then().statusCode(200);
        with(AuditLogFixture.ADMIN_TOKEN)
                .get(path())
                .then()
                .body("name", nullValue())
                .body("logo", nullValue())
                .body("embedders", hasSize(0));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"name\": \"\"}",
                "{\"name\": \"  \"}",
                "{\"name\": 1}",
                "{\"colour\": \"red\"}",
                "{\"colour\": \"#fff\"}",
                "{\"colour\": \"#1B57C4\"}",
                "{\"colour\": \"#1b57c4;\"}",
                "{\"colour\": \"url(https://evil.example)\"}",
                "{\"logo\": \"https://evil.example/logo.png\"}",
                "{\"logo\": \"data:image/png;base64,iVBORw0KGgo=\"}",
                "{\"logo\": \"PHN2Zz48L3N2Zz4=\"}",
                "{\"logo\": \"\"}",
                "{\"embedders\": \"https://app.example.org\"}",
                "{\"embedders\": [1]}",
                "{\"embedders\": [\"\"]}",
                "{\"embedders\": [\"*\"]}",
                "{\"embedders\": [\"https://*.example.org\"]}",
                "{\"embedders\": [\"http://app.example.org\"]}",
                "{\"embedders\": [\"https://app.example.org/\"]}",
                "{\"embedders\": [\"https://user@app.example.org\"]}",
                "{\"embedders\": [\"https://app.example.org:99999999\"]}",
                "{\"embedders\": [\"https://app.example.org; script-src *\"]}",
                "{\"embedders\": [\"https://app.example.org https://evil.example\"]}",
                "{\"embedders\": [\"https://app.example.org\\r\\nSet-Cookie: a=b\"]}",
                "{\"css\": \"body{}\"}"
            })
    void whatCouldLeaveItsPlaceIsRefused(String body) {
        assertThat(set(body).statusCode()).isEqualTo(422);
    }

    @Test
    void namesEmbeddersAndLogosHaveLimits() {
        assertThat(set("{\"name\": \"" + "n".repeat(80) + "\"}").statusCode()).isEqualTo(200);
        assertThat(set("{\"name\": \"" + "n".repeat(81) + "\"}").statusCode()).isEqualTo(422);
        assertThat(set(embedders(16)).statusCode()).isEqualTo(200);
        assertThat(set(embedders(17)).statusCode()).isEqualTo(422);
        byte[] image = Base64.getDecoder().decode(PNG);
        assertThat(setLogo(Arrays.copyOf(image, MAX_BYTES)).statusCode()).isEqualTo(200);
        assertThat(setLogo(Arrays.copyOf(image, MAX_BYTES + 1)).statusCode()).isEqualTo(422);
        assertThat(setLogo(Arrays.copyOf(image, 2 * MAX_BYTES)).statusCode()).isEqualTo(413);
    }

    private static String embedders(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> "\"https://a" + i + ".example.org\"")
                .collect(Collectors.joining(",", "{\"embedders\": [", "]}"));
    }

    /** A small file may unpack to a picture that fills the reader's memory. */
    @Test
    void aLogoSaysHowLargeItIsInAFormatWithoutScripts() {
        for (int side : new int[] {1, 1_024}) {
            for (byte[] image : images(side)) {
                assertThat(setLogo(image).statusCode())
                        .as(new String(image, StandardCharsets.ISO_8859_1))
                        .isEqualTo(200);
            }
        }
        for (int side : new int[] {0, 1_025, 16_384}) {
            for (byte[] image : images(side)) {
                assertThat(setLogo(image).statusCode())
                        .as(new String(image, StandardCharsets.ISO_8859_1))
                        .isEqualTo(422);
            }
        }
        for (byte[] image : images(1)) {
            for (int length = 1; length < Math.min(image.length, 19); length++) {
                assertThat(setLogo(Arrays.copyOf(image, length)).statusCode()).isEqualTo(422);
            }
        }
        // Segments that lead nowhere, or back.
        for (String hex :
                List.of("ffd8ffe0000000000000000000", "ffd8ffe0ffff00000000000000", "ffd8ffd8ffd8ffd8ffd8ffd8")) {
            assertThat(setLogo(java.util.HexFormat.of().parseHex(hex)).statusCode())
                    .isEqualTo(422);
        }
        assertThat(setLogo("GIF89a\1\0\1\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".getBytes(StandardCharsets.ISO_8859_1))
                        .statusCode())
                .isEqualTo(422);
    }

    /** The beginnings of a PNG, a JPEG and the three kinds of WebP. */
    private static List<byte[]> images(int side) {
        byte[] png = Arrays.copyOf(Base64.getDecoder().decode(PNG), 40);
        ByteBuffer.wrap(png).putInt(16, side).putInt(20, side);
        ByteBuffer jpeg = ByteBuffer.allocate(40);
        jpeg.putShort((short) 0xFFD8)
                .putShort((short) 0xFFE0)
                .putShort((short) 6)
                .putInt(0);
        jpeg.putShort((short) 0xFFC2)
                .putShort((short) 17)
                .put((byte) 8)
                .putShort((short) side)
                .putShort((short) side);
        ByteBuffer extended = webp("VP8X", ByteBuffer.allocate(10));
        ByteBuffer lossless = webp("VP8L", ByteBuffer.allocate(10));
        ByteBuffer lossy = webp("VP8 ", ByteBuffer.allocate(10));
        int less = side - 1;
        extended.put(24, (byte) less).put(25, (byte) (less >> 8)).put(26, (byte) (less >> 16));
        extended.put(27, (byte) less).put(28, (byte) (less >> 8)).put(29, (byte) (less >> 16));
        int bits = less & 0x3FFF | (less & 0x3FFF) << 14;
        lossless.put(20, (byte) 0x2F).putInt(21, Integer.reverseBytes(bits));
        lossy.put(23, (byte) 0x9D).put(24, (byte) 1).put(25, (byte) 0x2A);
        int most = Math.min(side, 0x3FFF);
        lossy.putShort(26, Short.reverseBytes((short) most)).putShort(28, Short.reverseBytes((short) most));
        // The other two write a side of 0 as 1 less, which wraps around.
        return side == 0
                ? List.of(png, jpeg.array(), lossy.array())
                : List.of(png, jpeg.array(), extended.array(), lossless.array(), lossy.array());
    }

    private static ByteBuffer webp(String chunk, ByteBuffer content) {
        return ByteBuffer.allocate(40)
                .put("RIFF".getBytes(StandardCharsets.US_ASCII))
                .putInt(0)
                .put("WEBP".getBytes(StandardCharsets.US_ASCII))
                .put(chunk.getBytes(StandardCharsets.US_ASCII))
                .putInt(0)
                .put(content);
    }

    @Test
    void thePageOfAProjectMayBeFramedByItsEmbeddersAlone() {
        set("{\"embedders\": [\"https://app.example.org\", \"https://b.example.org:8443\"]}")
                .then()
                .statusCode(200);
        Response page = given().get("/?project=" + project.id());
        assertThat(page.statusCode()).isEqualTo(200);
        assertThat(page.header("Content-Security-Policy"))
                .endsWith("; frame-ancestors https://app.example.org https://b.example.org:8443");
        assertThat(page.headers().getValues("Cache-Control")).containsExactly("no-store");
        set("{}").then().statusCode(200);
        assertThat(ancestors("/?project=" + project.id())).isEqualTo("'none'");
        assertThat(ancestors("/?project=" + UUID.randomUUID())).isEqualTo("'none'");
    }

    /** Otherwise the page would take itself for the general one, with the reader's session, in a frame of another page. */
    @Test
    void onlyTheQueryThatThePageItselfTakesForAProjectsChangesThePolicy() {
        set("{\"embedders\": [\"https://app.example.org\"]}").then().statusCode(200);
        String id = project.id().toString();
        for (String query : List.of(
                "",
                "?x;project=" + id,
                "?x&project=" + id,
                "?project=" + id + "&x",
                "?project=" + id + "&project=" + id,
                "?Project=" + id,
                "?%70roject=" + id,
                "?project=%30" + id.substring(1),
                "?project=" + id + "%20",
                "?project=+" + id,
                "?project=" + id.toUpperCase(java.util.Locale.ROOT),
                "?project=" + project.id() + ";",
                "?project=x")) {
            assertThat(ancestors("/" + query)).as(query).isEqualTo("'none'");
        }
        assertThat(ancestors("/index.html?project=" + id)).isEqualTo("https://app.example.org");
        assertThat(ancestors("/admin.html?project=" + id)).isEqualTo("https://app.example.org");
        assertThat(ancestors("/admin.html?project=" + id + "&x")).isEqualTo("'none'");
    }

    private static String ancestors(String path) {
        return given().urlEncodingEnabled(false)
                .get(path)
                .header("Content-Security-Policy")
                .replaceAll(".*frame-ancestors ", "");
    }
}
