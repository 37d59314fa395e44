package dev.annals.access.caller;

import jakarta.ws.rs.container.ContainerRequestContext;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The author of an event of the administration's feed.
 *
 * @param token null for the configured admin token, and for the service itself
 * @param address null for the service itself
 * @param isLink whether it is a viewer link
 */
public record Actor(@Nullable UUID token, @Nullable String address, boolean isLink) {

    /** Also for its commands. */
    public static final Actor SERVICE = new Actor(null, null, false);

    public static Actor of(ContainerRequestContext request) {
        Caller caller = Caller.of(request);
        return new Actor(caller.token(), Caller.addressOf(request), caller.isLink());
    }
}
