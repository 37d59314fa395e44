package dev.annals.kernel.quarantine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Closes a connection to a PostgreSQL server whose messages cost the client too much: the client buffers messages of any length,
 * makes room for arrays as announced, computes as many SCRAM iterations as requested, and logs unexpected messages. The limits
 * suffice for a few columns of a few rows. Formats: PostgreSQL's documentation, "Message Formats".
 */
// Other handlers see the outcome of a close or a write.
@SuppressWarnings("FutureReturnValueIgnored")
final class PostgresGuard extends ChannelDuplexHandler {

    /** An error can repeat a whole record. */
    private static final int MAX_MESSAGE_BYTES = 262_144;

    /** The most bytes of a message that the guard reads. */
    private static final int MAX_KEPT_BYTES = 4_096;

    // The most bytes between two messages of the client.
    private static final int MAX_BYTES = 1_048_576;
    private static final int MAX_MESSAGES = 64;
    /** A trigger may send some for each row of a batch. */
    private static final int MAX_NOTICES = 10_000;

    private static final int MAX_COLUMNS = 16;
    private static final int MAX_LOGIN_STEPS = 5;

    private static final int HEAD_BYTES = 1 + Integer.BYTES;
    private static final int COLUMN_BYTES = 3 * Integer.BYTES + 3 * Short.BYTES;
    private static final char AUTHENTICATION = 'R';
    private static final char COLUMNS = 'T';
    private static final String NOTICES = "NS";
    /** No notifications, copies or suspended portals. */
    private static final String EXPECTED = NOTICES + AUTHENTICATION + COLUMNS + "KEZDC123nt";

    private static final int SASL_CONTINUE = 11;
    /** bool, int8, int2, int4, text, bpchar, varchar, uuid, void (pg_type); no arrays. */
    private static final Set<Integer> TYPES = Set.of(16, 20, 21, 23, 25, 1042, 1043, 2950, 2278);

    private final Predicate<byte[]> scram;

    private boolean awaitsTls;
    private boolean loggingIn;
    private boolean refused;
    private boolean scramAnswered;
    private int loginSteps;

    private int bytes;
    private int messages;
    private int notices;

    private final byte[] head = new byte[HEAD_BYTES];
    private int headBytes;
    /** The bytes left of the current message. */
    private int left;

    private byte @Nullable [] kept;

    /** @param scram whether to answer this first message of a server */
    PostgresGuard(Predicate<byte[]> scram) {
        this.scram = scram;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (!loggingIn) {
            int code = LoginDeadline.code(message);
            awaitsTls = code == LoginDeadline.SSL_REQUEST;
            loggingIn = code == LoginDeadline.VERSION_3;
            if (!awaitsTls && !loggingIn) {
                context.pipeline().remove(this);
            }
        }
        bytes = 0;
        messages = 0;
        notices = 0;
        context.write(message, promise);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        String wrong = refused ? "" : wrong((ByteBuf) message);
        if (wrong == null) {
            context.fireChannelRead(message);
            return;
        }
        ReferenceCountUtil.release(message);
        if (!refused) {
            refused = true;
            context.fireExceptionCaught(new RefusedAnswerException(wrong));
            context.close();
        }
    }

    private @Nullable String wrong(ByteBuf in) {
        if (awaitsTls) {
            awaitsTls = false;
            return in.readableBytes() == 1 ? null : "It says more than whether it has TLS.";
        } else if (!loggingIn) {
            return "It speaks before it is asked.";
        }
        bytes += in.readableBytes();
        if (bytes > MAX_BYTES) {
            return "It answers with more than " + MAX_BYTES + " bytes.";
        }
        String wrong = null;
        int at = in.readerIndex();
        while (wrong == null && at < in.writerIndex()) {
            if (headBytes < HEAD_BYTES) {
                head[headBytes++] = in.getByte(at++);
                wrong = headBytes == HEAD_BYTES ? begin() : null;
            } else {
                int part = Math.min(left, in.writerIndex() - at);
                if (kept != null) {
                    in.getBytes(at, kept, kept.length - left, part);
                }
                at += part;
                left -= part;
            }
            if (wrong == null && headBytes == HEAD_BYTES && left == 0) {
                wrong = kept == null ? null : look((char) head[0], ByteBuffer.wrap(kept));
                headBytes = 0;
            }
        }
        return wrong;
    }

    private @Nullable String begin() {
        char type = (char) head[0];
        boolean keep = type == AUTHENTICATION || type == COLUMNS;
        int length = ByteBuffer.wrap(head, 1, Integer.BYTES).getInt();
        if (EXPECTED.indexOf(type) < 0 || length < Integer.BYTES) {
            return "It does not speak the protocol of PostgreSQL.";
        } else if (length > (keep ? MAX_KEPT_BYTES : MAX_MESSAGE_BYTES)) {
            return "It announces a message of " + length + " bytes.";
        } else if (NOTICES.indexOf(type) >= 0 ? ++notices > MAX_NOTICES : ++messages > MAX_MESSAGES) {
            return "It answers with too many messages.";
        }
        left = length - Integer.BYTES;
        kept = keep ? new byte[left] : null;
        return null;
    }

    private @Nullable String look(char type, ByteBuffer body) {
        return type == AUTHENTICATION ? login(body) : columns(body);
    }

    private @Nullable String login(ByteBuffer body) {
        if (body.remaining() < Integer.BYTES || ++loginSteps > MAX_LOGIN_STEPS) {
            return "Its login has no end.";
        } else if (body.getInt() != SASL_CONTINUE) {
            return null;
        }
        boolean again = scramAnswered;
        scramAnswered = true;
        byte[] challenge = new byte[body.remaining()];
        body.get(challenge);
        return again || !scram.test(challenge) ? "Its login asks for too many iterations." : null;
    }

    private static @Nullable String columns(ByteBuffer body) {
        int columns = body.remaining() < Short.BYTES ? Integer.MAX_VALUE : Short.toUnsignedInt(body.getShort());
        if (columns > MAX_COLUMNS) {
            return "It answers with too many columns.";
        }
        for (int i = 0; i < columns; i++) {
            while (body.hasRemaining() && body.get() != 0) {
                // the name
            }
            if (body.remaining() < COLUMN_BYTES || !TYPES.contains(body.getInt(body.position() + 6))) {
                return "It answers with columns that were not asked for.";
            }
            body.position(body.position() + COLUMN_BYTES);
        }
        return null;
    }
}
