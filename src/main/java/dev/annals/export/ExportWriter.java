package dev.annals.export;

import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.Provider;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import org.jboss.resteasy.reactive.server.core.ResteasyReactiveRequestContext;
import org.jboss.resteasy.reactive.server.spi.ResteasyReactiveResourceInfo;
import org.jboss.resteasy.reactive.server.spi.ServerMessageBodyWriter;
import org.jboss.resteasy.reactive.server.spi.ServerRequestContext;

/**
 * Gives the connection to an {@link ExportStream}. The framework's own streams end in the same way whether or not everything
 * was written.
 */
@Provider
public class ExportWriter implements ServerMessageBodyWriter<ExportStream> {

    @Override
    public boolean isWriteable(Class<?> type, Type generic, ResteasyReactiveResourceInfo info, MediaType mediaType) {
        return type == ExportStream.class;
    }

    @Override
    public boolean isWriteable(Class<?> type, Type generic, Annotation[] annotations, MediaType mediaType) {
        return type == ExportStream.class;
    }

    @Override
    public void writeResponse(ExportStream export, Type generic, ServerRequestContext request) {
        ResteasyReactiveRequestContext context = (ResteasyReactiveRequestContext) request;
        RoutingContext routing = context.unwrap(RoutingContext.class);
        HttpServerResponse response = routing.response();
        context.suspend();
        // The framework keeps the connection's one handler for itself, and passes it on.
        context.serverResponse().addCloseHandler(export::stop);
        export.start(response, routing.vertx().getOrCreateContext(), context::resume);
    }

    @Override
    public void writeTo(
            ExportStream export,
            Class<?> type,
            Type generic,
            Annotation[] annotations,
            MediaType mediaType,
            MultivaluedMap<String, Object> headers,
            OutputStream out) {
        throw new UnsupportedOperationException("an export is never written to a stream that blocks");
    }
}
