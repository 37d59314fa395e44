package dev.annals.kernel.quarantine;

import com.oracle.svm.core.annotate.Alias;
import com.oracle.svm.core.annotate.Substitute;
import com.oracle.svm.core.annotate.TargetClass;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.CipherSuiteFilter;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextOption;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.BouncyCastleUtil;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManagerFactory;

/**
 * Methods of Netty that a native executable replaces, in addition to those that Quarkus replaces for the older Netty of its
 * platform. The originals reach OpenSSL and Bouncy Castle, which are no libraries of the service. Nothing loads these classes on
 * the JVM.
 */
final class NettySubstitutions {

    private NettySubstitutions() {}

    /** Quarkus replaces the method with one parameter less, which Netty's builder no longer calls. */
    @TargetClass(SslContext.class)
    static final class Contexts {

        private Contexts() {}

        @Substitute
        static SslContext newClientContextInternal(
                SslProvider provider,
                Provider securityProvider,
                X509Certificate[] trusted,
                TrustManagerFactory trust,
                X509Certificate[] chain,
                PrivateKey key,
                String keyPassword,
                KeyManagerFactory keys,
                Iterable<String> ciphers,
                CipherSuiteFilter cipherFilter,
                ApplicationProtocolConfig applicationProtocols,
                String[] protocols,
                long sessionCacheSize,
                long sessionTimeout,
                boolean startTls, // the JDK's contexts have no use for it
                boolean ocsp,
                SecureRandom random,
                String keyStoreType,
                String endpointIdentification,
                Map.Entry<SslContextOption<?>, Object>[] options)
                throws SSLException {
            if (ocsp) {
                throw new IllegalArgumentException("OCSP needs OpenSSL, which a native executable does not have.");
            }
            Object context = new ClientContext(
                    securityProvider,
                    trusted,
                    trust,
                    chain,
                    key,
                    keyPassword,
                    keys,
                    ciphers,
                    cipherFilter,
                    applicationProtocols,
                    protocols,
                    sessionCacheSize,
                    sessionTimeout,
                    random,
                    keyStoreType,
                    endpointIdentification,
                    new Resumption());
            return (SslContext) context;
        }
    }

    @TargetClass(className = "io.netty.handler.ssl.JdkSslClientContext")
    static final class ClientContext {

        @Alias
        ClientContext(
                Provider securityProvider,
                X509Certificate[] trusted,
                TrustManagerFactory trust,
                X509Certificate[] chain,
                PrivateKey key,
                String keyPassword,
                KeyManagerFactory keys,
                Iterable<String> ciphers,
                CipherSuiteFilter cipherFilter,
                ApplicationProtocolConfig applicationProtocols,
                String[] protocols,
                long sessionCacheSize,
                long sessionTimeout,
                SecureRandom random,
                String keyStoreType,
                String endpointIdentification,
                Resumption resumption)
                throws SSLException {}
    }

    @TargetClass(className = "io.netty.handler.ssl.ResumptionController")
    static final class Resumption {

        @Alias
        Resumption() {}
    }

    /** Netty asks it before it reads a private key by classes of Bouncy Castle. */
    @TargetClass(BouncyCastleUtil.class)
    static final class BouncyCastle {

        private BouncyCastle() {}

        @Substitute
        public static boolean isBcPkixAvailable() {
            return false;
        }
    }
}
