package dev.annals.core.feed;

import com.sun.management.UnixOperatingSystemMXBean;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetSocket;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Many sockets, each with one request, that gather what they receive. */
final class Connections implements AutoCloseable {

    private static final int AT_A_TIME = 200;
    /** Files that other tests in the same process may open meanwhile. */
    private static final int MARGIN = 2_000;

    private final Vertx vertx = Vertx.vertx();
    private final NetClient client =
            vertx.createNetClient(new NetClientOptions().setReconnectAttempts(3).setReconnectInterval(100));
    private final URI service;
    private final List<Answer> answers = new CopyOnWriteArrayList<>();

    /** The bytes that one connection has received. */
    private static final class Answer {
        private final StringBuilder text = new StringBuilder();

        synchronized void add(String part) {
            text.append(part);
        }

        synchronized boolean has(String part) {
            return text.indexOf(part) >= 0;
        }
    }

    Connections(URI service) {
        this.service = service;
    }

    /** This many connections, or fewer if the system limits open files: a connection takes two, one at either end. */
    static int atMost(int wanted) {
        if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system) {
            long left = system.getMaxFileDescriptorCount() - system.getOpenFileDescriptorCount() - MARGIN;
            return (int) Math.min(wanted, left / 2);
        }
        return wanted;
    }

    /** Opens connections and sends the request on each. */
    void open(int count, String request) throws Exception {
        for (int opened = 0; opened < count; opened += AT_A_TIME) {
            List<NetSocket> sockets = new CopyOnWriteArrayList<>();
            int now = Math.min(AT_A_TIME, count - opened);
            CountDownLatch all = new CountDownLatch(now);
            for (int i = 0; i < now; i++) {
                Answer answer = new Answer();
                answers.add(answer);
                client.connect(service.getPort(), service.getHost())
                        .onSuccess(socket -> {
                            socket.handler(part -> answer.add(part.toString()));
                            socket.write(request);
                            sockets.add(socket);
                        })
                        .onComplete(done -> all.countDown());
            }
            if (!all.await(30, TimeUnit.SECONDS) || sockets.size() < now) {
                throw new IllegalStateException("only " + sockets.size() + " of " + now + " connections were made");
            }
        }
    }

    /** Counts the connections that have received this text. */
    int received(String text) {
        return (int) answers.stream().filter(answer -> answer.has(text)).count();
    }

    @Override
    public void close() {
        vertx.close()
                .toCompletionStage()
                .toCompletableFuture()
                .orTimeout(30, TimeUnit.SECONDS)
                .join();
    }
}
