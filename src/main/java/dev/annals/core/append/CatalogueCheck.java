package dev.annals.core.append;

import dev.annals.access.actions.Catalogue;
import dev.annals.access.actions.Catalogue.Policy;
import dev.annals.access.actions.Catalogues;
import dev.annals.access.caller.Caller;
import dev.annals.core.append.AppendOutcome.Rejection;
import dev.annals.core.record.AuditRecord;
import dev.annals.kernel.http.FieldError;
import io.smallrye.mutiny.Uni;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the records that the catalogue of their project refuses. Names are compared on the event loop. Schemas are checked by workers, a few
 * records at a time, so that a large batch does not delay other requests.
 */
@Singleton
class CatalogueCheck {

    private final Catalogues catalogues;

    CatalogueCheck(Catalogues catalogues) {
        this.catalogues = catalogues;
    }

    /** Records without an entry may be stored. */
    Uni<List<Rejection>> refused(Caller caller, List<AuditRecord> records) {
        return catalogues.of(caller).chain(catalogue -> {
            List<Rejection> rejections = new ArrayList<>();
            if (records.stream().anyMatch(record -> catalogue.hasSchema(record.action(), Policy.REFUSE))) {
                return catalogues
                        .inTurns(
                                caller.projectId(),
                                records.size(),
                                at -> check(catalogue, records.get(at), at, rejections))
                        .replaceWith(rejections);
            }
            for (int at = 0; at < records.size(); at++) {
                check(catalogue, records.get(at), at, rejections);
            }
            return Uni.createFrom().item(rejections);
        });
    }

    /** Returns the steps that it took. */
    private static long check(Catalogue catalogue, AuditRecord record, int at, List<Rejection> rejections) {
        FieldError misfit = catalogue.misfit(record.action(), record.metadata(), Policy.REFUSE);
        if (misfit != null) {
            rejections.add(new Rejection(at, misfit.pointer(), misfit.detail()));
        }
        return catalogue.steps(record.action(), record.metadata(), Policy.REFUSE);
    }
}
