package dev.annals.access.caller;

import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The author of an event of the administration's feed.
 *
 * @param token null for the configured admin token, and for the service itself
 * @param address null for the service itself
 */
public record Actor(@Nullable UUID token, @Nullable String address) {

    /** Also for its commands. */
    public static final Actor SERVICE = new Actor(null, null);

    public static Actor of(ContainerRequestContext request) {
        return new Actor(Caller.of(request).token(), Caller.addressOf(request));
    }
}
