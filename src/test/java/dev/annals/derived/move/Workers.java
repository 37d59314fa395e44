package dev.annals.derived.move;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Threads of a test, and their failures. */
final class Workers {

    final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();

    interface Work {
        void run() throws Exception;
    }

    Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable e) {
                failures.add(e);
            }
        });
        thread.start();
        return thread;
    }
}
