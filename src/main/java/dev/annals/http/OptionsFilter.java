package dev.annals.http;

import jakarta.ws.rs.HttpMethod;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

/**
 * Answers OPTIONS with the methods of its address; the framework would name the methods of all addresses in a resource
 * class.
 */
final class OptionsFilter {

    @ServerResponseFilter
    void nameTheMethodsOfTheAddress(ContainerRequestContext request, ContainerResponseContext answer) {
        if (request.getMethod().equals(HttpMethod.OPTIONS) && answer.getStatus() == 200) {
            answer.getHeaders()
                    .putSingle("Allow", AllowedMethods.at(request.getUriInfo().getPath()));
        }
    }
}
