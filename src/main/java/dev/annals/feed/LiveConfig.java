package dev.annals.feed;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

/** Limits of long polls and streams. All counts are per instance of the service. */
@ConfigMapping(prefix = "annals.live")
public interface LiveConfig {

    /**
     * How long after one look at the heads of the awaited feeds the next one is taken: how late a record of a plain SQL
     * writer, or of another instance, can be noticed. Nobody looks while nobody waits.
     */
    @WithDefault("25ms")
    @DurationMin(millis = 1)
    @DurationMax(seconds = 1)
    Duration tick();

    /** How many feeds' heads one statement reads. */
    @WithDefault("1000")
    @Min(1)
    @Max(10_000)
    int headsPerStatement();

    /** How many pages are read for waiting clients at a time; each takes a connection of the pool. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int pageReads();

    /** How many long polls may wait. */
    @WithDefault("20000")
    @Min(1)
    @Max(1_000_000)
    int waits();

    /** How many long polls of one project may wait. */
    @WithDefault("10000")
    @Min(1)
    @Max(1_000_000)
    int projectWaits();

    /** How many streams may be open. */
    @WithDefault("5000")
    @Min(1)
    @Max(1_000_000)
    int streams();

    /** How many streams of one project may be open. */
    @WithDefault("2500")
    @Min(1)
    @Max(1_000_000)
    int projectStreams();

    /** A stream that has sent nothing for so long sends a comment, or how far it has come. */
    @WithDefault("15s")
    @DurationMin(millis = 10)
    @DurationMax(minutes = 5)
    Duration heartbeat();

    /** A stream whose client has read nothing for so long, while there was more to send, is closed. Checked at heartbeats. */
    @WithDefault("30s")
    @DurationMin(millis = 10)
    @DurationMax(minutes = 10)
    Duration stall();

    /**
     * After how long a stream is ended, so that its client opens it anew and shows its token again. Checked at heartbeats.
     */
    @WithDefault("1h")
    @DurationMin(millis = 10)
    @DurationMax(days = 7)
    Duration streamAge();

    /** How long clients are asked to wait before they open a broken stream again. */
    @WithDefault("1s")
    @DurationMin(millis = 1)
    @DurationMax(minutes = 10)
    Duration retry();

    /**
     * How many bytes of events a stream holds for its client, but for the record that passes the limit. What does not fit
     * is read again from the database when the client has caught up.
     */
    @WithDefault("262144")
    @Min(1_024)
    @Max(67_108_864)
    int streamBytes();
}
