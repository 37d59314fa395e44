package dev.annals.kernel.http;

import io.vertx.core.Vertx;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.ext.Provider;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import org.jboss.resteasy.reactive.server.spi.ResteasyReactiveResourceInfo;
import org.jboss.resteasy.reactive.server.spi.ServerMessageBodyWriter;
import org.jboss.resteasy.reactive.server.spi.ServerRequestContext;

/** Gives the connection to a {@link PacedBody}. */
@Provider
public class PacedBodyWriter implements ServerMessageBodyWriter<PacedBody> {

    @Override
    public boolean isWriteable(Class<?> type, Type generic, ResteasyReactiveResourceInfo info, MediaType mediaType) {
        return PacedBody.class.isAssignableFrom(type);
    }

    @Override
    public boolean isWriteable(Class<?> type, Type generic, Annotation[] annotations, MediaType mediaType) {
        return PacedBody.class.isAssignableFrom(type);
    }

    @Override
    public void writeResponse(PacedBody body, Type generic, ServerRequestContext request) {
        // The framework keeps the connection's one handler for itself, and passes it on.
        request.serverResponse().addCloseHandler(body::stop);
        body.start(Vertx.currentContext());
    }

    @Override
    public void writeTo(
            PacedBody body,
            Class<?> type,
            Type generic,
            Annotation[] annotations,
            MediaType mediaType,
            MultivaluedMap<String, Object> headers,
            OutputStream out) {
        throw new UnsupportedOperationException("it is never written to a stream that blocks");
    }
}
