package dev.annals;

import dev.annals.access.openid.OpenIdConfig;
import dev.annals.access.requests.LoggingConfig;
import dev.annals.access.tokens.TokenConfig;
import dev.annals.core.append.AppendConfig;
import dev.annals.core.feed.FeedConfig;
import dev.annals.core.feed.LiveConfig;
import dev.annals.derived.alert.AlertConfig;
import dev.annals.derived.facets.FacetsConfig;
import dev.annals.derived.log.LogConfig;
import dev.annals.derived.projection.ProjectionConfig;
import dev.annals.derived.retention.RetentionConfig;
import dev.annals.derived.search.SearchConfig;
import dev.annals.derived.statistics.StatisticsConfig;
import dev.annals.edges.delivery.DeliveryConfig;
import dev.annals.edges.export.ExportConfig;
import dev.annals.edges.viewer.ViewerConfig;
import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.config.SettingsCheck;
import dev.annals.kernel.connection.ConnectionConfig;
import dev.annals.kernel.http.BodyConfig;
import dev.annals.kernel.memory.MemoryConfig;
import dev.annals.tools.ops.VerificationConfig;
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
            StatisticsConfig.class,
            TokenConfig.class,
            ViewerConfig.class);

    private Settings() {}

    static SettingsCheck check() {
        return new SettingsCheck(ALL);
    }
}
