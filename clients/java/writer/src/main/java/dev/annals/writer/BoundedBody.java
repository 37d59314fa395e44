package dev.annals.writer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow.Subscription;

/** An answer in memory, up to a size that no answer of the service reaches. A longer answer ends the connection. */
final class BoundedBody implements BodySubscriber<byte[]> {

    private static final int MAX_BYTES = 1 << 20;

    private final CompletableFuture<byte[]> body = new CompletableFuture<>();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private Subscription subscription;
    private boolean cancelled;

    @Override
    public CompletionStage<byte[]> getBody() {
        return body;
    }

    @Override
    public synchronized void onSubscribe(Subscription subscription) {
        this.subscription = subscription;
        if (cancelled) {
            subscription.cancel();
        } else {
            subscription.request(Long.MAX_VALUE);
        }
    }

    @Override
    public synchronized void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            if (bytes.size() + buffer.remaining() > MAX_BYTES) {
                body.completeExceptionally(new IOException("The answer has more than " + MAX_BYTES + " bytes"));
                subscription.cancel();
                return;
            }
            byte[] part = new byte[buffer.remaining()];
            buffer.get(part);
            bytes.writeBytes(part);
        }
    }

    @Override
    public void onError(Throwable cause) {
        body.completeExceptionally(cause);
    }

    @Override
    public synchronized void onComplete() {
        body.complete(bytes.toByteArray());
    }

    /** Stops reading. */
    synchronized void cancel() {
        cancelled = true;
        if (subscription != null && !body.isDone()) {
            subscription.cancel();
        }
    }
}
