package dev.annals.edges.delivery;

import java.nio.ByteBuffer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * TLS with a broker of Kafka whose answers may have at most {@value #MAX_ANSWER_BYTES} bytes. An answer begins with its size in four
 * bytes, and the client allocates that much at once, up to two gigabytes. It has no setting to limit this.
 */
final class BoundedTls extends SSLEngine {

    static final int MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

    private static final int SIZE_BYTES = 4;

    private final SSLEngine engine;
    private int sizeBytes;
    /** The size as far as it has been read; then the missing bytes of the answer. */
    private int size;

    BoundedTls(SSLEngine engine) {
        super(engine.getPeerHost(), engine.getPeerPort());
        this.engine = engine;
    }

    @Override
    public SSLEngineResult unwrap(ByteBuffer source, ByteBuffer[] targets, int offset, int length) throws SSLException {
        int[] before = new int[length];
        for (int i = 0; i < length; i++) {
            before[i] = targets[offset + i].position();
        }
        SSLEngineResult result = engine.unwrap(source, targets, offset, length);
        for (int i = 0; i < length; i++) {
            ByteBuffer target = targets[offset + i];
            follow(target.duplicate().position(before[i]).limit(target.position()));
        }
        return result;
    }

    private void follow(ByteBuffer bytes) throws SSLException {
        while (bytes.hasRemaining()) {
            if (sizeBytes < SIZE_BYTES) {
                size = size << 8 | Byte.toUnsignedInt(bytes.get());
                sizeBytes++;
                if (sizeBytes == SIZE_BYTES && (size < 0 || size > MAX_ANSWER_BYTES)) {
                    throw new SSLException("the answer is too large");
                }
            } else {
                int part = Math.min(size, bytes.remaining());
                bytes.position(bytes.position() + part);
                size -= part;
            }
            if (sizeBytes == SIZE_BYTES && size == 0) {
                sizeBytes = 0;
            }
        }
    }

    @Override
    public SSLEngineResult wrap(ByteBuffer[] sources, int offset, int length, ByteBuffer target) throws SSLException {
        return engine.wrap(sources, offset, length, target);
    }

    @Override
    public @Nullable Runnable getDelegatedTask() {
        return engine.getDelegatedTask();
    }

    @Override
    public void closeInbound() throws SSLException {
        engine.closeInbound();
    }

    @Override
    public boolean isInboundDone() {
        return engine.isInboundDone();
    }

    @Override
    public void closeOutbound() {
        engine.closeOutbound();
    }

    @Override
    public boolean isOutboundDone() {
        return engine.isOutboundDone();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return engine.getSupportedCipherSuites();
    }

    @Override
    public String[] getEnabledCipherSuites() {
        return engine.getEnabledCipherSuites();
    }

    @Override
    public void setEnabledCipherSuites(String[] suites) {
        engine.setEnabledCipherSuites(suites);
    }

    @Override
    public String[] getSupportedProtocols() {
        return engine.getSupportedProtocols();
    }

    @Override
    public String[] getEnabledProtocols() {
        return engine.getEnabledProtocols();
    }

    @Override
    public void setEnabledProtocols(String[] protocols) {
        engine.setEnabledProtocols(protocols);
    }

    @Override
    public SSLSession getSession() {
        return engine.getSession();
    }

    @Override
    public SSLSession getHandshakeSession() {
        return engine.getHandshakeSession();
    }

    @Override
    public void beginHandshake() throws SSLException {
        engine.beginHandshake();
    }

    @Override
    public SSLEngineResult.HandshakeStatus getHandshakeStatus() {
        return engine.getHandshakeStatus();
    }

    @Override
    public void setUseClientMode(boolean mode) {
        engine.setUseClientMode(mode);
    }

    @Override
    public boolean getUseClientMode() {
        return engine.getUseClientMode();
    }

    @Override
    public void setNeedClientAuth(boolean need) {
        engine.setNeedClientAuth(need);
    }

    @Override
    public boolean getNeedClientAuth() {
        return engine.getNeedClientAuth();
    }

    @Override
    public void setWantClientAuth(boolean want) {
        engine.setWantClientAuth(want);
    }

    @Override
    public boolean getWantClientAuth() {
        return engine.getWantClientAuth();
    }

    @Override
    public void setEnableSessionCreation(boolean flag) {
        engine.setEnableSessionCreation(flag);
    }

    @Override
    public boolean getEnableSessionCreation() {
        return engine.getEnableSessionCreation();
    }

    @Override
    public SSLParameters getSSLParameters() {
        return engine.getSSLParameters();
    }

    @Override
    public void setSSLParameters(SSLParameters parameters) {
        engine.setSSLParameters(parameters);
    }
}
