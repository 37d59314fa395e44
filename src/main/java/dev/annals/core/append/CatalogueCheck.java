package dev.annals.core.append;

import dev.annals.access.actions.Catalogue;
import dev.annals.access.actions.Catalogue.Policy;
import dev.annals.access.actions.Catalogues;
import dev.annals.access.caller.Caller;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.http.FieldError;
import io.smallrye.mutiny.Uni;
import io.vertx.core.Vertx;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the records that the catalogue of their project refuses. Names are compared on the event loop. Schemas are checked by workers, a few
 * records at a time, so that a large batch does not delay other requests.
 */
@Singleton
class CatalogueCheck {

    /** A few milliseconds, or one record. */
    private static final long STEPS_PER_TURN = 5_000;

    private final Catalogues catalogues;
    private final Vertx vertx;

    CatalogueCheck(Catalogues catalogues, Vertx vertx) {
        this.catalogues = catalogues;
        this.vertx = vertx;
    }

    /** Records without an entry may be stored. */
    Uni<List<Rejection>> refused(Caller caller, List<AuditRecord> records) {
        return catalogues.of(caller).chain(catalogue -> {
            List<Rejection> rejections = new ArrayList<>();
            if (records.stream().anyMatch(record -> catalogue.hasSchema(record.action(), Policy.REFUSE))) {
                return inTurns(catalogue, records, 0, rejections);
            }
            check(catalogue, records, 0, Long.MAX_VALUE, rejections);
            return Uni.createFrom().item(rejections);
        });
    }

    private Uni<List<Rejection>> inTurns(
            Catalogue catalogue, List<AuditRecord> records, int from, List<Rejection> rejections) {
        return Uni.createFrom()
                .completionStage(() -> vertx.executeBlocking(
                                () -> check(catalogue, records, from, STEPS_PER_TURN, rejections), false)
                        .toCompletionStage())
                .chain(next -> next == records.size()
                        ? Uni.createFrom().item(rejections)
                        : inTurns(catalogue, records, next, rejections));
    }

    /** Returns the index of the next record. */
    private static int check(
            Catalogue catalogue, List<AuditRecord> records, int from, long steps, List<Rejection> rejections) {
        int at = from;
        for (long left = steps; at < records.size() && left > 0; at++) {
            AuditRecord record = records.get(at);
            FieldError misfit = catalogue.misfit(record.action(), record.metadata(), Policy.REFUSE);
            if (misfit != null) {
                rejections.add(new Rejection(at, misfit.pointer(), misfit.detail()));
            }
            left -= catalogue.steps(record.action(), record.metadata(), Policy.REFUSE);
        }
        return at;
    }
}
