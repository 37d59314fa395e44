package dev.annals.export;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;

/** Limits of exports. */
@ConfigMapping(prefix = "annals.export")
public interface ExportConfig {

    /** How many exports may run at a time, of all projects together. */
    @WithDefault("8")
    @Min(1)
    @Max(1_000)
    int concurrent();

    /** How many exports of one project may run at a time. */
    @WithDefault("2")
    @Min(1)
    @Max(1_000)
    int concurrentPerProject();

    /** How long a client may read nothing before its connection is closed. */
    @WithDefault("60s")
    @DurationMin(millis = 100)
    @DurationMax(hours = 1)
    Duration idle();

    /** How many records are read from the database at a time, at most. */
    @WithDefault("500")
    @Min(1)
    @Max(10_000)
    int pageRecords();

    /** About how many bytes such a page shall have: where records are large, fewer are read at a time. */
    @WithDefault("1048576")
    @Min(65_536)
    @Max(67_108_864)
    int pageBytes();
}
