package dev.annals.access.caller;

import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The author of an event of the administration's feed.
 *
 * @param token null for the configured admin token, and for the service itself
 * @param address the sender's; null for the service itself
 */
public record Actor(@Nullable UUID token, @Nullable String address) {

    /** The service itself, or one of its commands. */
    public static final Actor SERVICE = new Actor(null, null);

    /** The author of a request's changes. */
    public static Actor of(ContainerRequestContext request) {
        return new Actor(Caller.of(request).token(), Caller.addressOf(request));
    }
}
