package dev.annals.edges.intake;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

/** Writes problems in protobuf to senders of OTLP in protobuf: a Collector reads and logs no other form. */
public final class LogProblems {

    /** After the filter that turns each error into a problem. */
    private static final int PRIORITY = 1_000;

    @ServerResponseFilter(priority = PRIORITY)
    public void inTheSendersEncoding(ContainerRequestContext request, ContainerResponseContext response) {
        if (response.getStatus() < 400
                || !LogsResource.PATH.equals(request.getUriInfo().getPath())) {
            return;
        }
        LogEncoding encoding = LogsResource.encoding(request.getHeaderString(HttpHeaders.CONTENT_TYPE));
        if (response.getEntity() instanceof byte[] problem && encoding == LogsResource.PROTOBUF) {
            response.setEntity(LogProtobuf.status(problem), null, LogProtobuf.TYPE);
            response.getHeaders().putSingle(HttpHeaders.CONTENT_TYPE, LogProtobuf.TYPE);
        }
    }
}
