package dev.annals.access.limits;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

/** Tells callers that have limits how much of them is left: {@code RateLimit-Policy} and {@code RateLimit}. */
class UsageHeaders {

    private final Usage usage;

    UsageHeaders(Usage usage) {
        this.usage = usage;
    }

    @ServerResponseFilter
    void tellHowMuchIsLeft(ContainerRequestContext request, ContainerResponseContext response) {
        if (request.getProperty(Limited.PROPERTY) instanceof Limited caller && caller.isLimited()) {
            usage.describe(caller, response.getHeaders()::putSingle);
        }
    }
}
