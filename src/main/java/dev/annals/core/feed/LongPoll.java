package dev.annals.core.feed;

import dev.annals.core.feed.HeadWatch.Kind;
import dev.annals.core.query.Filter;
import io.smallrye.mutiny.subscription.UniEmitter;
import io.vertx.core.Context;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A request for a page that waits until there is a record for it or its time is up. */
final class LongPoll extends Follower {

    private final UniEmitter<? super FeedPage> answer;
    private final Context context;
    private final long timer;
    private @Nullable FeedPage last;
    private boolean timeIsUp;

    LongPoll(
            UUID projectId,
            FeedQuery query,
            Supplier<Filter> filter,
            Duration wait,
            HeadWatch watch,
            ReadCoalescer<SharedPage.Key, SharedPage> reads,
            Context context,
            UniEmitter<? super FeedPage> answer) {
        super(Kind.LONG_POLL, projectId, query, filter, watch, reads, context);
        this.answer = answer;
        this.context = context;
        this.timer = context.owner().setTimer(wait.toMillis(), up -> timeIsUp());
        // The answer is given, or the client has gone.
        answer.onTermination(this::end);
    }

    @Override
    void take(SharedPage shared) {
        FeedPage page = shared.page();
        last = page;
        if (!page.records().isEmpty() || timeIsUp) {
            answer.complete(page);
            return;
        }
        moveTo(page.pollMore());
        if (page.next() != null) {
            read(shared.readAt());
        } else {
            await(shared.readAt());
        }
    }

    @Override
    void failed(Throwable failure) {
        answer.fail(failure);
    }

    @Override
    void stopping() {
        timeIsUp();
    }

    private void timeIsUp() {
        timeIsUp = true;
        // If a read is in flight, its result becomes the answer.
        if (!isReading() && last != null) {
            answer.complete(last);
        }
    }

    @Override
    void end() {
        context.owner().cancelTimer(timer);
        super.end();
    }
}
