package dev.annals.core.feed;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.annals.access.actions.Catalogue;
import dev.annals.access.actions.Catalogue.Policy;
import dev.annals.access.actions.Catalogues;
import dev.annals.access.caller.Caller;
import dev.annals.core.record.RecordEncoder.EncodedRecord;
import dev.annals.kernel.http.FieldError;
import dev.annals.kernel.http.JsonBody;
import dev.annals.kernel.memory.NoMemoryException;
import dev.annals.kernel.memory.Reservation;
import io.smallrye.mutiny.Uni;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Marks records of a page that do not fit the project's catalogue of actions as it is now, with the member {@code misfit}. Stored records
 * stay as they are.
 */
@Singleton
class Misfits {

    private final Catalogues catalogues;

    Misfits(Catalogues catalogues) {
        this.catalogues = catalogues;
    }

    /**
     * Compares a page with the catalogue of the caller's project.
     *
     * @param held grows with the marks
     */
    Uni<FeedPage> mark(Caller caller, FeedPage page, Reservation held) {
        if (caller.catalogueVersion() == 0 || page.records().isEmpty()) {
            return Uni.createFrom().item(page);
        }
        return catalogues
                .of(caller)
                .chain(catalogue -> catalogue.marks()
                        ? marks(caller, catalogue, page.records()).map(records -> marked(page, records, held))
                        : Uni.createFrom().item(page));
    }

    private Uni<List<EncodedRecord>> marks(Caller caller, Catalogue catalogue, List<EncodedRecord> records) {
        List<EncodedRecord> marked = new ArrayList<>();
        return catalogues
                .inTurns(caller.projectId(), records.size(), at -> mark(catalogue, records.get(at), marked))
                .replaceWith(marked);
    }

    private static FeedPage marked(FeedPage page, List<EncodedRecord> records, Reservation held) {
        FeedPage marked =
                new FeedPage(records, page.next(), page.head(), page.pollMore(), page.searched(), page.snapshot());
        long need = FeedQuery.memory(marked.bytes());
        if (held.bytes() < need && !held.tryGrowTo(need)) {
            throw new NoMemoryException("There is no memory to mark the records of this page at the moment. Ask again"
                    + " later, or for fewer records.");
        }
        return marked;
    }

    /** Returns the steps that it took. */
    private static long mark(Catalogue catalogue, EncodedRecord record, List<EncodedRecord> marked) {
        Content content = Content.of(record);
        FieldError misfit = catalogue.misfit(content.action(), content.metadata(), Policy.MARK);
        marked.add(misfit == null ? record : record.with(member(misfit)));
        return catalogue.steps(content.action(), content.metadata(), Policy.MARK);
    }

    private static byte[] member(FieldError misfit) {
        byte[] value = JsonBody.toBytes(256, json -> {
            json.writeStartObject();
            json.writeStringField("pointer", misfit.pointer());
            json.writeStringField("detail", misfit.detail());
            json.writeEndObject();
        });
        return ("\"misfit\":" + new String(value, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8);
    }

    private record Content(String action, @Nullable String metadata) {

        static Content of(EncodedRecord record) {
            String action = "";
            String metadata = null;
            try (JsonParser json = record.parser()) {
                json.nextToken();
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    String name = json.currentName();
                    json.nextToken();
                    if (name.equals("action")) {
                        action = json.getText();
                    } else if (name.equals("metadata")) {
                        metadata = record.text(json);
                    } else {
                        json.skipChildren();
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException("a record is JSON", e);
            }
            return new Content(action, metadata);
        }
    }
}
