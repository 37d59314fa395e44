package dev.annals;

import java.net.URI;
import org.eclipse.microprofile.config.ConfigProvider;

/** Where the application under test shows its metrics, and the details of its health. */
public final class ManagementPort {

    private ManagementPort() {}

    /** The address of {@code /metrics}, {@code /health} and the like. */
    public static URI uri(String path) {
        return URI.create(ConfigProvider.getConfig().getValue("test.management.url", String.class) + path);
    }
}
