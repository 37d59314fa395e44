package dev.annals.edges.delivery;

import dev.annals.access.actions.Catalogue;
import dev.annals.access.actions.Catalogues;
import dev.annals.core.record.RecordEncoder;
import dev.annals.kernel.config.AnnalsConfig;
import io.smallrye.mutiny.Uni;
import jakarta.enterprise.context.ApplicationScoped;
import org.jspecify.annotations.Nullable;

/** The encodings of streams' records: the stream's format, in the messages of its sink. */
@ApplicationScoped
class StreamEncodings {

    private final Catalogues catalogues;
    private final int syslogBytes;
    /** Its URL; null if the service does not know it. */
    private final @Nullable String viewer;

    StreamEncodings(Catalogues catalogues, DeliveryConfig config, AnnalsConfig annals) {
        this.catalogues = catalogues;
        this.syslogBytes = config.syslogBytes();
        this.viewer =
                annals.publicUrl().map(url -> url.replaceAll("/+$", "") + "/").orElse(null);
    }

    Uni<RecordEncoder.Format> of(NamedStream stream) {
        Uni<Catalogue> catalogue = stream.format() == StreamFormat.OCSF
                ? catalogues.now(stream.projectId())
                : Uni.createFrom().item(Catalogue.NONE);
        return catalogue.map(now -> inMessages(stream, stream.format().of(stream.projectId(), now, viewer)));
    }

    private RecordEncoder.Format inMessages(NamedStream stream, RecordEncoder.Format format) {
        return switch (stream.sinkType()) {
            case SYSLOG -> new SyslogMessage(stream, format, syslogBytes);
            case OTLP -> OtlpRecord::write;
            case WEBHOOK, POSTGRESQL, KAFKA, S3 -> format;
        };
    }
}
