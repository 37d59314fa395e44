package dev.annals.edges.delivery;

import java.security.NoSuchAlgorithmException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/** The client's side of TLS, for sinks without a client of Vert.x. */
final class TlsClients {

    private TlsClients() {}

    /**
     * An engine that requires a trusted certificate for the host.
     *
     * @param host a name, or an address without brackets; the certificate must be trusted for it
     */
    static SSLEngine engine(String host, int port) {
        try {
            SSLEngine engine = SSLContext.getDefault().createSSLEngine(host, port);
            engine.setUseClientMode(true);
            SSLParameters parameters = engine.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            engine.setSSLParameters(parameters);
            return engine;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("this Java has no TLS", e);
        }
    }
}
