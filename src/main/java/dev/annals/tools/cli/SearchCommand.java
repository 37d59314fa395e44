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
 * Prints the records that a query matches, or counts them: columns for people at a terminal, and NDJSON for whatever reads a pipe.
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

    @Parameters(arity = "0..*", paramLabel = "QUERY", description = "What to search for. Without one: everything.")
    List<String> query = new ArrayList<>();

    @Option(
            names = "-n",
            paramLabel = "COUNT",
            description = "How many records to print at most. Default: 100 at a terminal, otherwise all.")
    @Nullable
    Integer most;

    @Option(names = "--oldest-first", description = "Begin with the oldest record that is left.")
    boolean oldestFirst;

    @Option(
            names = "--around",
            paramLabel = "ID",
            description =
                    "Print what was recorded around this record, oldest first: half of -n before it. ID is its id or its"
                            + " sequence id, and -n is 20 unless it is given.")
    @Nullable
    String around;

    @Option(
            names = "--facets",
            description =
                    "Count the records in place of printing them: the most frequent values of each field (-n of them, 10 unless it"
                            + " is given), and how many records there are in each interval of time.")
    boolean facets;

    @Option(names = "--json", description = "Print JSON at a terminal, too.")
    boolean json;

    private final OutputStream output = Terminal.output();

    @Override
    int run() throws IOException, InterruptedException {
        if (most != null && most < 1) {
            throw new ClientFailure(ClientFailure.USAGE, "-n has to be 1 or more.");
        }
        if (around != null && oldestFirst) {
            throw new ClientFailure(ClientFailure.USAGE, "--around has an order of its own: leave --oldest-first out.");
        }
        if (facets && (around != null || oldestFirst || (most != null && most > MOST_VALUES))) {
            throw new ClientFailure(
                    ClientFailure.USAGE,
                    "--facets counts records in no order: leave --around and --oldest-first out, and give -n "
                            + MOST_VALUES + " at most.");
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
            Terminal.say("There are more than were counted: these are the records behind the sequence id "
                    + counts.path("from").asLong() + ". Narrow the query down, as with last:24h.");
        } else if (table != null) {
            Terminal.say("Records: " + counts.path("total").asLong());
        }
    }

    private void search(String text, long wanted, @Nullable RecordTable table)
            throws IOException, InterruptedException {
        if (walk(text, oldestFirst ? "asc" : "desc", null, wanted, records -> print(records, table))) {
            Terminal.say("There may be more than these " + wanted + ": see -n.");
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

    private interface Taking {
        void take(List<byte[]> records) throws IOException;
    }

    /**
     * Reads page by page.
     *
     * @param cursor null for the beginning of that order
     * @return whether there may be more than the wanted ones
     */
    private boolean walk(String text, String order, @Nullable String cursor, long wanted, Taking taking)
            throws IOException, InterruptedException {
        Map<String, @Nullable String> parameters = new LinkedHashMap<>();
        parameters.put("q", text.isBlank() ? null : text);
        parameters.put("order", order);
        parameters.put("cursor", cursor);
        for (long left = wanted; left > 0; ) {
            parameters.put("limit", Long.toString(Math.min(left, LARGEST_PAGE)));
            Page<byte[]> page = PageReader.parse(
                    service.send(service.request(Connection.FEED + Connection.query(parameters)), Duration.ZERO));
            taking.take(page.records());
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
