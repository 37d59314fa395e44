package dev.annals.access.caller;

import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Who does what the administration's feed records.
 *
 * @param token null for the admin token of the settings, and for the service itself
 * @param address from which it came; null for the service itself
 */
public record Actor(@Nullable UUID token, @Nullable String address) {

    /** The service itself, or a tool that runs beside it. */
    public static final Actor SERVICE = new Actor(null, null);

    /** Who sent a request. */
    public static Actor of(ContainerRequestContext request) {
        return new Actor(Caller.of(request).token(), Caller.addressOf(request));
    }
}
