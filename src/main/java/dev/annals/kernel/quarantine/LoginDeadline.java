package dev.annals.kernel.quarantine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection to a database whose login takes too long. Vert.x hides a connection until its login is over; then {@link
 * AnswerDeadline} removes this handler.
 */
// Other handlers see the outcome of a close or a write.
@SuppressWarnings("FutureReturnValueIgnored")
final class LoginDeadline extends ChannelOutboundHandlerAdapter {

    private static final Logger LOG = Logger.getLogger(LoginDeadline.class);

    // PostgreSQL's documentation, "Message Formats": one of these follows the length of the first message.
    static final int SSL_REQUEST = 80_877_103;
    static final int VERSION_3 = 196_608;

    private final long nanos;
    private @Nullable ScheduledFuture<?> end;

    LoginDeadline(long nanos) {
        this.nanos = nanos;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (end == null) {
            if (beginsLogin(message)) {
                end = context.executor().schedule(() -> giveUp(context), nanos, TimeUnit.NANOSECONDS);
            } else {
                context.pipeline().remove(this);
            }
        }
        context.write(message, promise);
    }

    private static boolean beginsLogin(Object message) {
        int code = code(message);
        return code == SSL_REQUEST || code == VERSION_3;
    }

    /** The code of a connection's first message. */
    static int code(Object message) {
        return message instanceof ByteBuf bytes && bytes.readableBytes() >= 2 * Integer.BYTES
                ? bytes.getInt(bytes.readerIndex() + Integer.BYTES)
                : 0;
    }

    private void giveUp(ChannelHandlerContext context) {
        LOG.warnf(
                "The login to the database at %s was not complete in %d ms: the connection to it is given up",
                context.channel().remoteAddress(), TimeUnit.NANOSECONDS.toMillis(nanos));
        context.close();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        if (end != null) {
            end.cancel(false);
        }
    }
}
