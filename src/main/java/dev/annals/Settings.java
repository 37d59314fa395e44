package dev.annals;

import dev.annals.alert.AlertConfig;
import dev.annals.append.AppendConfig;
import dev.annals.config.AnnalsConfig;
import dev.annals.config.SettingsCheck;
import dev.annals.connection.ConnectionConfig;
import dev.annals.delivery.DeliveryConfig;
import dev.annals.export.ExportConfig;
import dev.annals.facets.FacetsConfig;
import dev.annals.feed.FeedConfig;
import dev.annals.http.BodyConfig;
import dev.annals.live.LiveConfig;
import dev.annals.log.LogConfig;
import dev.annals.memory.MemoryConfig;
import dev.annals.openid.OpenIdConfig;
import dev.annals.ops.VerificationConfig;
import dev.annals.project.TokenConfig;
import dev.annals.projection.ProjectionConfig;
import dev.annals.requests.LoggingConfig;
import dev.annals.retention.RetentionConfig;
import dev.annals.search.SearchConfig;
import dev.annals.sequence.SequenceConfig;
import dev.annals.statistics.StatisticsConfig;
import dev.annals.viewer.ViewerConfig;
import java.util.List;

/** The interfaces that declare all settings of the service, to be checked before it starts. */
final class Settings {

    static final List<Class<?>> ALL = List.of(
            AlertConfig.class,
            AnnalsConfig.class,
            AppendConfig.class,
            BodyConfig.class,
            ConnectionConfig.class,
            DeliveryConfig.class,
            ExportConfig.class,
            FacetsConfig.class,
            FeedConfig.class,
            LiveConfig.class,
            LogConfig.class,
            LoggingConfig.class,
            MemoryConfig.class,
            OpenIdConfig.class,
            ProjectionConfig.class,
            RetentionConfig.class,
            VerificationConfig.class,
            SearchConfig.class,
            SequenceConfig.class,
            StatisticsConfig.class,
            TokenConfig.class,
            ViewerConfig.class);

    private Settings() {}

    static SettingsCheck check() {
        return new SettingsCheck(ALL);
    }
}
