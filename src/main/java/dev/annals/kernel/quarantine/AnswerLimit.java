package dev.annals.kernel.quarantine;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.CombinedChannelDuplexHandler;
import io.netty.util.ReferenceCountUtil;
import io.vertx.sqlclient.SqlConnection;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Limits what the answers of a database take of this process' memory: the client keeps all rows of an answer, and the owner of a database
 * decides what its functions return. A database that exceeds the limit loses all its connections. Formats: PostgreSQL's documentation,
 * "Message Formats". Thread-safe.
 */
public final class AnswerLimit {

    /** The most memory that a row needs besides its bytes, and each of its values. */
    private static final int OBJECT_BYTES = 64;

    private final long answerBytes;
    private final long allBytes;
    private final Consumer<String> exceeded;
    private final AtomicLong held = new AtomicLong();
    private final Set<Channel> channels = ConcurrentHashMap.newKeySet();

    /**
     * Limits no connection yet.
     *
     * @param answerBytes the most memory of an answer
     * @param allBytes the most memory of answers that arrive at the same time
     * @param exceeded gets what the database did, in a clause, on an event loop
     */
    public AnswerLimit(long answerBytes, long allBytes, Consumer<String> exceeded) {
        this.answerBytes = answerBytes;
        this.allBytes = allBytes;
        this.exceeded = exceeded;
    }

    /** Limits the answers of a connection after its login, from the next one on. */
    public <C extends SqlConnection> C on(C connection) {
        ChannelHandlerContext client = AnswerDeadline.client(connection);
        if (client.executor().inEventLoop()) {
            limit(client);
        } else {
            client.executor().execute(() -> limit(client));
        }
        return connection;
    }

    private void limit(ChannelHandlerContext client) {
        ChannelPipeline pipeline = client.pipeline();
        ChannelHandlerContext codec = pipeline.context(CombinedChannelDuplexHandler.class);
        // A closed connection has none.
        if (codec != null) {
            pipeline.addBefore(codec.name(), null, new Answer());
            channels.add(client.channel());
            var unused = client.channel().closeFuture().addListener(closed -> channels.remove(client.channel()));
        }
    }

    private void exceeded(String what) {
        exceeded.accept(what);
        channels.forEach(channel -> channel.eventLoop().execute(() -> AnswerDeadline.closeFirst(channel.pipeline())));
    }

    private final class Answer extends ChannelInboundHandlerAdapter {

        private static final int HEAD_BYTES = 1 + Integer.BYTES;
        private static final char ROW = 'D';
        private static final char READY = 'Z';

        /** The type and the length of a message; of a row, also the number of its values. */
        private final byte[] head = new byte[HEAD_BYTES + Short.BYTES];

        private int headBytes;
        /** The bytes left of the current message. */
        private long left;

        private long bytes;
        private boolean refused;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (!refused && message instanceof ByteBuf in && !fits(in)) {
                refused = true;
                exceeded("answers with more than " + answerBytes + " bytes, or " + allBytes + " at the same time");
            }
            if (refused) {
                ReferenceCountUtil.release(message);
            } else {
                context.fireChannelRead(message);
            }
        }

        private boolean fits(ByteBuf in) {
            int at = in.readerIndex();
            while (at < in.writerIndex()) {
                if (left > 0) {
                    long part = Math.min(left, in.writerIndex() - at);
                    at += (int) part;
                    left -= part;
                } else {
                    head[headBytes++] = in.getByte(at++);
                    if (headBytes == (head[0] == ROW ? head.length : HEAD_BYTES) && !begin()) {
                        return false;
                    }
                }
            }
            return true;
        }

        /** The length counts before the message arrives: the client makes room for all of it. */
        private boolean begin() {
            ByteBuffer read = ByteBuffer.wrap(head, 1, headBytes - 1);
            long length = Integer.toUnsignedLong(read.getInt());
            long values = head[0] == ROW ? 1L + Short.toUnsignedInt(read.getShort()) : 0;
            left = length - (headBytes - 1);
            headBytes = 0;
            if (head[0] == READY) {
                release();
                return left >= 0;
            }
            long more = length + values * OBJECT_BYTES;
            bytes += more;
            return left >= 0 && held.addAndGet(more) <= allBytes && bytes <= answerBytes;
        }

        private void release() {
            held.addAndGet(-bytes);
            bytes = 0;
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext context) {
            release();
        }
    }
}
