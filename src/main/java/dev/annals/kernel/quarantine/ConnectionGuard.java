package dev.annals.kernel.quarantine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection whose client is slow to send a request's head, to send the next request, or to read an answer. {@link
 * Requests}, behind the codec, passes one request at a time to the service. Bytes that wait for the client count in {@link
 * UnsentAnswers}. Confined to the connection's event loop, except {@link #cutOff}.
 */
// Other handlers see the outcome of a close or a write.
@SuppressWarnings("FutureReturnValueIgnored")
final class ConnectionGuard extends ChannelDuplexHandler {

    private static final int SMALL_HEAD_BYTES = 4_096;
    /** The most requests ahead of an answer; more would take uncounted memory. */
    private static final int MAX_AHEAD = 100;

    private static final long NEVER = Long.MAX_VALUE;

    private final ConnectionRules rules;
    private final long headNanos;
    private final long idleNanos;
    private final AtomicInteger largeHeads;
    private final UnsentAnswers unsentAnswers;
    private final Requests requests = new Requests();

    private boolean watching;
    /** Whether the service has a request without a complete answer. */
    private boolean busy;

    private boolean inBody;
    /** Whether the deadline is that of an incomplete head. */
    private boolean inHead;

    private int headBytes;

    private boolean framed;
    private long deadline;
    /** The bytes in {@link #unsentAnswers}. */
    private long counted;
    /** The bytes of the answer that all clients share in memory. */
    private long shared;

    private @Nullable ChannelHandlerContext context;
    private final Unsent unsent = new Unsent();
    private @Nullable ScheduledFuture<?> look;

    /** @param largeHeads the port's number of connections with a large incomplete head */
    ConnectionGuard(ConnectionRules rules, AtomicInteger largeHeads, UnsentAnswers unsentAnswers) {
        this.rules = rules;
        this.headNanos = rules.headTime().toNanos();
        this.idleNanos = rules.idleTime().toNanos();
        this.largeHeads = largeHeads;
        this.unsentAnswers = unsentAnswers;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        this.context = context;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        deadline = System.nanoTime() + idleNanos;
        lookIn(context, headNanos);
        context.fireChannelActive();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        if (look != null) {
            look.cancel(false);
        }
        headIsComplete();
        count(0, false);
        context.fireChannelInactive();
    }

    @Override
    public void flush(ChannelHandlerContext context) {
        context.flush();
        count(context, false);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        count(context, context.channel().isWritable());
        context.fireChannelWritabilityChanged();
    }

    private void count(ChannelHandlerContext context, boolean taken) {
        ChannelOutboundBuffer out = context.channel().unsafe().outboundBuffer();
        count(out == null ? 0 : Math.max(0, out.totalPendingWriteBytes() - shared), taken);
    }

    private void count(long waiting, boolean taken) {
        if (counted != waiting || taken) {
            counted = waiting;
            unsentAnswers.count(this, waiting, taken);
        }
    }

    /** Thread-safe. */
    void cutOff() {
        ChannelHandlerContext there = Objects.requireNonNull(context, "it has written");
        there.executor().execute(there::close);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (!watching) {
            watching = true;
            if (!watch(context.pipeline())) {
                context.pipeline().addLast(new Choice());
            }
        }
        int bytes = ((ByteBuf) message).readableBytes();
        if (!busy && !inBody && !inHead && !framed) {
            inHead = true;
            deadline = System.nanoTime() + headNanos;
        }
        int decoded = requests.decoded;
        context.fireChannelRead(message);
        // Also behind a request that is being answered: the codec keeps the next head until it is complete.
        if (requests.decoded == decoded && !inBody && !framed) {
            addToHead(context, bytes);
        }
    }

    private void addToHead(ChannelHandlerContext context, int bytes) {
        boolean large = headBytes > SMALL_HEAD_BYTES;
        headBytes += bytes;
        if (large || headBytes <= SMALL_HEAD_BYTES || largeHeads.incrementAndGet() <= rules.largeHeads()) {
            return;
        }
        if (busy) {
            // A refusal would mix with the answer under way.
            context.close();
        } else {
            refuse(context, rules.tooManyHeads());
        }
    }

    /** False if the pipeline has no codec yet. */
    private boolean watch(ChannelPipeline pipeline) {
        ChannelHandlerContext codec = pipeline.context(HttpResponseEncoder.class);
        if (codec == null) {
            return false;
        }
        pipeline.addAfter(codec.name(), null, requests);
        return true;
    }

    /**
     * Handles ports with HTTP/2, which cannot be turned off for the management port: the first bytes choose the codec, and
     * arrive here before they reach it.
     */
    private final class Choice extends ChannelInboundHandlerAdapter {

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (!watch(context.pipeline())) {
                // The guard does not understand HTTP/2. In TLS, both ends have agreed on it.
                if (context.pipeline().get(SslHandler.class) == null) {
                    ReferenceCountUtil.release(message);
                    context.close();
                    return;
                }
                headIsComplete();
                framed = true;
                deadline = NEVER;
            }
            context.fireChannelRead(message);
            context.pipeline().remove(this);
        }
    }

    /** Waits at most as long as any deadline that may be set meanwhile. */
    private void lookIn(ChannelHandlerContext context, long nanos) {
        look = context.executor().schedule(() -> look(context), Math.min(nanos, headNanos), TimeUnit.NANOSECONDS);
    }

    private void look(ChannelHandlerContext context) {
        long now = System.nanoTime();
        long left = deadline == NEVER ? NEVER : deadline - now;
        if (unsent.notTakenFor(context, now) >= idleNanos) {
            context.close();
        } else if (left > 0) {
            lookIn(context, left);
        } else if (inHead) {
            refuse(context, rules.tooSlow());
        } else {
            context.close();
        }
    }

    private static void refuse(ChannelHandlerContext context, byte[] answer) {
        context.writeAndFlush(Unpooled.wrappedBuffer(answer)).addListener(ChannelFutureListener.CLOSE);
    }

    private void headIsComplete() {
        if (headBytes > SMALL_HEAD_BYTES) {
            largeHeads.decrementAndGet();
        }
        headBytes = 0;
        inHead = false;
    }

    private static final class Unsent {
        private long bytes;
        private long messages;
        /** The first message's. A file is one message, and its bytes do not count. */
        private long progress;

        private long changed;

        /** In nanoseconds; 0 if nothing waits. */
        long notTakenFor(ChannelHandlerContext context, long now) {
            ChannelOutboundBuffer out = context.channel().unsafe().outboundBuffer();
            if (out == null || out.isEmpty()) {
                messages = 0;
                return 0;
            }
            if (bytes != out.totalPendingWriteBytes() || messages != out.size() || progress != out.currentProgress()) {
                bytes = out.totalPendingWriteBytes();
                messages = out.size();
                progress = out.currentProgress();
                changed = now;
            }
            return now - changed;
        }
    }

    private final class Requests extends ChannelDuplexHandler {

        /** Parts of requests. */
        private final Deque<Object> waiting = new ArrayDeque<>();

        /** Decoded parts of requests. */
        private int decoded;

        private int ahead;
        private boolean wantsToRead;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            decoded++;
            if (message instanceof HttpRequest) {
                headIsComplete();
            }
            if (waiting.isEmpty() && !(busy && message instanceof HttpRequest)) {
                pass(context, message);
            } else if (message instanceof HttpRequest && ++ahead > MAX_AHEAD) {
                ReferenceCountUtil.release(message);
                context.close();
            } else {
                waiting.add(message);
            }
        }

        private void pass(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest request) {
                // Declines the offer of HTTP/2.
                request.headers().remove(HttpHeaderNames.UPGRADE);
                inHead = false;
                busy = true;
                inBody = true;
                deadline = NEVER;
            }
            if (message instanceof LastHttpContent) {
                inBody = false;
            }
            context.fireChannelRead(message);
        }

        /** Reads nothing while a request waits. */
        @Override
        public void read(ChannelHandlerContext context) {
            if (waiting.isEmpty()) {
                context.read();
            } else {
                wantsToRead = true;
            }
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            if (message instanceof HttpContent part && isShared(context, part)) {
                shared += part.content().readableBytes();
            }
            if (message instanceof LastHttpContent && !isInterim(message)) {
                context.write(message, promise.unvoid().addListener(sent -> {
                    if (sent.isSuccess()) {
                        answered(context);
                    }
                }));
            } else {
                context.write(message, promise);
            }
        }

        /** Clients share a read-only buffer, unless TLS encrypts it for each. */
        private boolean isShared(ChannelHandlerContext context, HttpContent part) {
            return part.content().isReadOnly() && context.pipeline().get(SslHandler.class) == null;
        }

        private boolean isInterim(Object message) {
            return message instanceof HttpResponse response
                    && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
        }

        private void answered(ChannelHandlerContext context) {
            busy = false;
            shared = 0;
            if (counted > 0) {
                // Later: the bytes just sent are still pending.
                context.executor().execute(() -> count(context, false));
            }
            // The rest of a body is no longer needed.
            inHead = !inBody && headBytes > 0;
            deadline = System.nanoTime() + (inBody || inHead ? headNanos : idleNanos);
            if (!waiting.isEmpty()) {
                // Later: a handler further on may be in the middle of its work.
                context.executor().execute(() -> next(context));
            }
        }

        private void next(ChannelHandlerContext context) {
            while (!waiting.isEmpty() && !(busy && waiting.peek() instanceof HttpRequest)) {
                Object message = waiting.remove();
                if (message instanceof HttpRequest) {
                    ahead--;
                }
                pass(context, message);
            }
            // Sends the answers made meanwhile.
            context.fireChannelReadComplete();
            if (wantsToRead && waiting.isEmpty()) {
                wantsToRead = false;
                if (context.channel().config().isAutoRead()) {
                    context.read();
                }
            }
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext context) {
            waiting.forEach(ReferenceCountUtil::release);
            waiting.clear();
        }
    }
}
