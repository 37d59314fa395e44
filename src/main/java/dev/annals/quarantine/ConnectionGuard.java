package dev.annals.quarantine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection if the head of a request is not complete in time, or if there is no request for too long. It sees the
 * bytes as they arrive; behind the codec it sees where requests begin and answers end.
 */
// The connection's other handlers see the outcome of a close or a write.
@SuppressWarnings("FutureReturnValueIgnored")
final class ConnectionGuard extends ChannelInboundHandlerAdapter {

    private static final int SMALL_HEAD_BYTES = 4_096;
    private static final long NEVER = Long.MAX_VALUE;

    private final ConnectionRules rules;
    private final long headNanos;
    private final long idleNanos;
    private final AtomicInteger largeHeads;
    private final Requests requests = new Requests();

    private boolean watching;
    /** Requests whose answer is not completely written. */
    private int unanswered;

    private boolean framed;
    private boolean inBody;
    private boolean inHead;
    private int headBytes;
    private long deadline;
    private long unread;
    private @Nullable ScheduledFuture<?> look;

    /** @param largeHeads how many connections have a large head that is not complete */
    ConnectionGuard(ConnectionRules rules, AtomicInteger largeHeads) {
        this.rules = rules;
        this.headNanos = rules.headTime().toNanos();
        this.idleNanos = rules.idleTime().toNanos();
        this.largeHeads = largeHeads;
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
        context.fireChannelInactive();
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
        if (unanswered == 0 && !inBody && !inHead && !framed) {
            inHead = true;
            deadline = System.nanoTime() + headNanos;
        }
        context.fireChannelRead(message);
        if (inHead && headBytes <= SMALL_HEAD_BYTES) {
            headBytes += bytes;
            if (headBytes > SMALL_HEAD_BYTES && largeHeads.incrementAndGet() > rules.largeHeads()) {
                refuse(context, rules.tooManyHeads());
            }
        }
    }

    /** Whether there is a codec, behind which requests are seen. */
    private boolean watch(ChannelPipeline pipeline) {
        ChannelHandlerContext codec = pipeline.context(HttpResponseEncoder.class);
        if (codec == null) {
            return false;
        }
        pipeline.addAfter(codec.name(), null, requests);
        return true;
    }

    /**
     * Where HTTP/2 is not turned off, which the management port has no setting for, the codec is chosen by the first bytes: they
     * come here after that, and before they come to the codec.
     */
    private final class Choice extends ChannelInboundHandlerAdapter {

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (!watch(context.pipeline())) {
                // HTTP/2, whose frames the guard does not understand. In TLS, it has been agreed upon.
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

    /** Looks at the clock again after this time, and before any deadline that may be set until then. */
    private void lookIn(ChannelHandlerContext context, long nanos) {
        look = context.executor().schedule(() -> look(context), Math.min(nanos, headNanos), TimeUnit.NANOSECONDS);
    }

    private void look(ChannelHandlerContext context) {
        long left = deadline == NEVER ? NEVER : deadline - System.nanoTime();
        if (left > 0) {
            lookIn(context, left);
        } else if (inHead) {
            refuse(context, rules.tooSlow());
        } else if (isBeingRead(context)) {
            deadline = System.nanoTime() + idleNanos;
            lookIn(context, idleNanos);
        } else {
            context.close();
        }
    }

    /** Whether the client has taken anything since this was last called. */
    private boolean isBeingRead(ChannelHandlerContext context) {
        ChannelOutboundBuffer out = context.channel().unsafe().outboundBuffer();
        long before = unread;
        unread = out == null ? 0 : out.totalPendingWriteBytes();
        return unread > 0 && unread != before;
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

    /** Sits behind the codec. */
    private final class Requests extends ChannelDuplexHandler {

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest request) {
                // The offer of HTTP/2 is not taken up.
                request.headers().remove(HttpHeaderNames.UPGRADE);
                headIsComplete();
                unanswered++;
                inBody = true;
                deadline = NEVER;
            }
            if (message instanceof LastHttpContent) {
                inBody = false;
            }
            context.fireChannelRead(message);
        }

        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            if (message instanceof LastHttpContent && !isInterim(message)) {
                unanswered--;
                if (unanswered == 0) {
                    // The rest of a body is no longer needed.
                    deadline = System.nanoTime() + (inBody ? headNanos : idleNanos);
                }
            }
            context.write(message, promise);
        }

        private boolean isInterim(Object message) {
            return message instanceof HttpResponse response
                    && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
        }
    }
}
