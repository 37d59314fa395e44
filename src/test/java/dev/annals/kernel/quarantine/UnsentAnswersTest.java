package dev.annals.kernel.quarantine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.BesideTheService;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clients that take nothing of their answers, at the limit of what may wait for all of them. */
@BesideTheService
class UnsentAnswersTest {

    /** More than the network takes of an answer here. */
    private static final int ANSWER_BYTES = 1 << 20;

    private static final int MAY_WAIT = 4;

    private final NioEventLoopGroup loops = new NioEventLoopGroup(2);
    private final List<Socket> clients = new ArrayList<>();
    private final Rules rules = new Rules();
    private final UnsentAnswers unsent = new UnsentAnswers(rules);

    @AfterEach
    void close() throws Exception {
        for (Socket client : clients) {
            client.close();
        }
        loops.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS).sync();
    }

    @Test
    void theClientsThatHaveTakenNothingForTheLongestAreCutOff() throws Exception {
        InetSocketAddress server = serve(Unpooled.wrappedBuffer(new byte[ANSWER_BYTES]));
        List<InputStream> answers = ask(server, 3 * MAY_WAIT);
        int whole = 0;
        for (int i = answers.size() - 1; i >= 0; i--) {
            boolean isWhole = isWhole(answers.get(i));
            assertThat(isWhole).as("answer " + i).isEqualTo(whole < MAY_WAIT && i >= 2 * MAY_WAIT);
            whole += isWhole ? 1 : 0;
        }
        assertThat(rules.cutOff).hasValue(2 * MAY_WAIT);
    }

    @Test
    void aClientThatTakesItsAnswerIsServedWhileOthersAreCutOff() throws Exception {
        InetSocketAddress server = serve(Unpooled.wrappedBuffer(new byte[ANSWER_BYTES]));
        for (int i = 0; i < 3 * MAY_WAIT; i++) {
            var unused = ask(server, 1);
            assertThat(isWhole(ask(server, 1).get(0))).isTrue();
        }
    }

    @Test
    void bytesThatAllClientsShareDoNotCount() throws Exception {
        InetSocketAddress server = serve(Unpooled.unreleasableBuffer(
                Unpooled.directBuffer(ANSWER_BYTES).writeZero(ANSWER_BYTES).asReadOnly()));
        for (InputStream answer : ask(server, 3 * MAY_WAIT)) {
            assertThat(isWhole(answer)).isTrue();
        }
        assertThat(rules.cutOff).hasValue(0);
    }

    /** Asks as many times, on as many connections, each once the answer before has begun. */
    private List<InputStream> ask(InetSocketAddress server, int times) throws IOException {
        List<InputStream> answers = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            Socket client = new Socket();
            clients.add(client);
            client.setReceiveBufferSize(4096);
            client.connect(server);
            client.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            InputStream answer = client.getInputStream();
            assertThat(answer.readNBytes(1)).containsExactly('H');
            answers.add(answer);
        }
        return answers;
    }

    /** Whether an answer comes to its end. */
    private static boolean isWhole(InputStream answer) {
        try {
            return answer.readNBytes(ANSWER_BYTES).length == ANSWER_BYTES;
        } catch (IOException e) {
            return false;
        }
    }

    private InetSocketAddress serve(ByteBuf content) throws InterruptedException {
        Channel server = new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.SO_SNDBUF, 8_192)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(new ConnectionGuard(rules, new AtomicInteger(), unsent))
                                .addLast(new HttpRequestDecoder(), new HttpResponseEncoder(), new Answer(content));
                    }
                })
                .bind("127.0.0.1", 0)
                .sync()
                .channel();
        return (InetSocketAddress) server.localAddress();
    }

    private static final class Answer extends SimpleChannelInboundHandler<HttpRequest> {
        private final ByteBuf content;

        Answer(ByteBuf content) {
            this.content = content;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpRequest request) {
            var answer = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1,
                    HttpResponseStatus.OK,
                    content.isReadOnly() ? content.slice() : content.copy());
            answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, ANSWER_BYTES);
            var unused = context.writeAndFlush(answer);
        }
    }

    /** No time runs out. */
    private static final class Rules implements ConnectionRules {
        final AtomicInteger cutOff = new AtomicInteger();

        @Override
        public boolean admit(InetSocketAddress from) {
            return true;
        }

        @Override
        public void left(InetSocketAddress from) {}

        @Override
        public Duration headTime() {
            return Duration.ofHours(1);
        }

        @Override
        public Duration idleTime() {
            return Duration.ofHours(1);
        }

        @Override
        public int largeHeads() {
            return 1;
        }

        @Override
        public long unsentBytes() {
            // Each has a head, too, and what the library counts for its own objects.
            return MAY_WAIT * (ANSWER_BYTES + 1_024L);
        }

        @Override
        public void cutOff() {
            cutOff.incrementAndGet();
        }

        @Override
        public byte[] tooSlow() {
            return new byte[0];
        }

        @Override
        public byte[] tooManyHeads() {
            return new byte[0];
        }
    }
}
