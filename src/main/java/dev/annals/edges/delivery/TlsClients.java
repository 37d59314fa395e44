package dev.annals.edges.delivery;

import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/** The client's side of TLS, for sinks without a client of Vert.x. */
final class TlsClients {

    private TlsClients() {}

    /**
     * An engine that requires a trusted certificate for the host.
     *
     * @param host a name, or an address without brackets; the certificate must be trusted for it
     */
    static SSLEngine engine(String host, int port) {
        return engine(host, port, null);
    }

    /** @param certificate of the client; null for none */
    static SSLEngine engine(String host, int port, @Nullable KeyManager certificate) {
        try {
            SSLContext context = certificate == null ? SSLContext.getDefault() : SSLContext.getInstance("TLS");
            if (certificate != null) {
                context.init(new KeyManager[] {certificate}, null, null);
            }
            SSLEngine engine = context.createSSLEngine(host, port);
            engine.setUseClientMode(true);
            SSLParameters parameters = engine.getSSLParameters();
            parameters.setEndpointIdentificationAlgorithm("HTTPS");
            engine.setSSLParameters(parameters);
            return engine;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no TLS", e);
        }
    }

    /** Trusts what this Java trusts. */
    static TrustManager trusted() throws GeneralSecurityException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init((KeyStore) null);
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509TrustManager) {
                return manager;
            }
        }
        throw new GeneralSecurityException("this Java trusts no certificates");
    }
}
