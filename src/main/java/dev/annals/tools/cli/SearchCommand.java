package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.follower.Page;
import dev.annals.tools.command.Terminals;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Prints or counts the records that a query matches: columns on a terminal, otherwise NDJSON.
 */
@Command(
        name = "search",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Prints the records that a query matches, newest first.",
        footer = {
            "",
            "A query is words, \"phrases\", field:value, prefixes (action:volume_*), lists (action:a,b), alternatives",
            "((jane OR joe)), exclusions (-outcome:success), networks (ip:10.0.0.0/8), times (last:24h,",
            "occurred_at:2026-01-01..2026-02-01) and metadata (metadata.request_id:7f3a). Put it in quotes, and -- before",
            "one that begins with a hyphen: annals search -- '-outcome:success last:24h'"
        })
@RegisterForReflection
public final class SearchCommand extends ServiceCommand {

    private static final int LARGEST_PAGE = 1_000;
    private static final int ON_A_TERMINAL = 100;
    private static final int AROUND = 20;
    private static final int MOST_VALUES = 100;
    private static final Pattern SEQUENCE_ID = Pattern.compile("[1-9][0-9]{0,17}");

    @Parameters(arity = "0..*", paramLabel = "QUERY", description = "The query. Default: all records.")
    List<String> query = new ArrayList<>();

    @Option(
            names = "-n",
            paramLabel = "COUNT",
            description = "The largest number of records to print. Default: 100 on a terminal, otherwise all.")
    @Nullable
    Integer most;

    @Option(names = "--oldest-first", description = "Begin with the oldest record that is left.")
    boolean oldestFirst;

    @Option(
            names = "--around",
            paramLabel = "ID",
            description =
                    "Print the records around this record, oldest first: half of -n before it. ID is its id or its"
                            + " sequence id. The default of -n is 20 here.")
    @Nullable
    String around;

    @Option(
            names = "--facets",
            description = "Count the records instead: the most frequent values of each field (-n of them; default: 10),"
                    + " and the records in each interval of time.")
    boolean facets;

    @Option(names = "--json", description = "Print JSON on a terminal, too.")
    boolean json;

    private final OutputStream output = Terminal.output();

    @Override
    int run() throws IOException, InterruptedException {
        if (most != null && most < 1) {
            throw new ClientFailure(ClientFailure.USAGE, "-n has to be 1 or more.");
        }
        if (around != null && oldestFirst) {
            throw new ClientFailure(ClientFailure.USAGE, "--around has an order of its own: omit --oldest-first.");
        }
        if (facets && (around != null || oldestFirst || (most != null && most > MOST_VALUES))) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--facets counts records in no order: omit --around and --oldest-first, and use -n " + MOST_VALUES
                            + " at most.");
        }
        String text = String.join(" ", query);
        boolean terminal = Terminals.isTerminal(1);
        boolean colours = System.getenv("NO_COLOR") == null;
        RecordTable table = terminal && !json ? new RecordTable(colours) : null;
        try {
            if (facets) {
                count(text, terminal && !json ? new FacetTable(colours) : null);
            } else if (around == null) {
                search(text, most != null ? most : terminal ? ON_A_TERMINAL : Long.MAX_VALUE, table);
            } else {
                searchAround(text, place(around), table);
            }
        } catch (ClientFailure failure) {
            if (failure.position() > 0) {
                Terminal.point(text, failure.position());
            }
            throw failure;
        }
        return 0;
    }

    private void count(String text, @Nullable FacetTable table) throws IOException, InterruptedException {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("q", text.isBlank() ? null : text);
        parameters.put("top", most == null ? null : most.toString());
        byte[] answer = service.send(
                service.request(Connection.FEED + "/facets" + Connection.query(parameters)), Duration.ZERO);
        JsonNode counts = Json.mapper().readTree(answer);
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        if (table != null) {
            printed.writeBytes(table.rows(counts).getBytes(StandardCharsets.UTF_8));
        } else {
            printed.writeBytes(Terminal.withoutControls(answer));
            printed.write('\n');
        }
        printed.writeTo(output);
        output.flush();
        if (!counts.path("complete").asBoolean()) {
            Terminal.say("Not all records were counted: these are the records after the sequence id "
                    + counts.path("from").asLong() + ". Narrow the query down, as with last:24h.");
        } else if (table != null) {
            Terminal.say("Records: " + counts.path("total").asLong());
        }
    }

    private void search(String text, long wanted, @Nullable RecordTable table)
            throws IOException, InterruptedException {
        if (walk(text, oldestFirst ? "asc" : "desc", null, wanted, records -> print(records, table))) {
            Terminal.say("The query may match more than these " + wanted + ": see -n.");
        }
    }

    private void searchAround(String text, long place, @Nullable RecordTable table)
            throws IOException, InterruptedException {
        int wanted = most == null ? AROUND : most;
        List<byte[]> found = new ArrayList<>();
        if (wanted > 1) {
            walk(text, "desc", Long.toString(place), wanted / 2, found::addAll);
        }
        Collections.reverse(found);
        walk(text, "asc", Long.toString(place - 1), wanted - wanted / 2, found::addAll);
        print(found, table);
    }

    /** The sequence id of a record. */
    private long place(String id) throws IOException, InterruptedException {
        if (SEQUENCE_ID.matcher(id).matches()) {
            return Long.parseLong(id);
        }
        byte[] record = service.send(service.request(Connection.FEED + "/" + Connection.segment(id)), Duration.ZERO);
        return Json.mapper().readTree(record).path("sequence_id").asLong();
    }

    private interface Consumer {
        void take(List<byte[]> records) throws IOException;
    }

    /**
     * Reads page by page.
     *
     * @param cursor null for the beginning of the order
     * @return true if more records may match
     */
    private boolean walk(String text, String order, @Nullable String cursor, long wanted, Consumer consumer)
            throws IOException, InterruptedException {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("q", text.isBlank() ? null : text);
        parameters.put("order", order);
        parameters.put("cursor", cursor);
        for (long left = wanted; left > 0; ) {
            parameters.put("limit", Long.toString(Math.min(left, LARGEST_PAGE)));
            Page<byte[]> page = PageReader.parse(
                    service.send(service.request(Connection.FEED + Connection.query(parameters)), Duration.ZERO));
            consumer.take(page.records());
            left -= page.records().size();
            if (page.next() == null) {
                return false;
            }
            parameters.put("cursor", page.next());
        }
        return true;
    }

    private void print(List<byte[]> records, @Nullable RecordTable table) throws IOException {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        if (table != null) {
            printed.writeBytes(table.rows(records).getBytes(StandardCharsets.UTF_8));
        } else {
            for (byte[] record : records) {
                printed.writeBytes(Terminal.withoutControls(record));
                printed.write('\n');
            }
        }
        printed.writeTo(output);
        output.flush();
    }
}
