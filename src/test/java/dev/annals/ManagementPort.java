package dev.annals;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.microprofile.config.ConfigProvider;

/** The metrics and health details of the application under test. */
public final class ManagementPort {

    private ManagementPort() {}

    /** The address of {@code /metrics}, {@code /health} and the like. */
    public static URI uri(String path) {
        return URI.create(ConfigProvider.getConfig().getValue("test.management.url", String.class) + path);
    }

    /** The value of a gauge; 0 if it was never set. */
    public static double gauge(String name) throws IOException, InterruptedException {
        String metrics = HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(uri("/metrics")).build(), HttpResponse.BodyHandlers.ofString())
                .body();
        Matcher gauge =
                Pattern.compile("(?m)^" + name + "(?:\\{[^}]*})? (\\S+)$").matcher(metrics);
        return gauge.find() ? Double.parseDouble(gauge.group(1)) : 0;
    }
}
