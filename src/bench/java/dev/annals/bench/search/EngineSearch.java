package dev.annals.bench.search;

import dev.annals.bench.BenchDatabase;
import dev.annals.bench.Progress;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.InetAddressPoint;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.SortedNumericSortField;
import org.apache.lucene.search.TermInSetQuery;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/** A search engine, within this process: Lucene. It gives places; the records stand elsewhere. */
final class EngineSearch implements AutoCloseable {

    private static final String PLACE = "place";
    private static final double BUFFER_MEGABYTES = 256;
    private static final int FETCH = 10_000;
    private static final int PROGRESS = 1_000_000;

    private final FSDirectory directory;
    private final DirectoryReader reader;
    private final IndexSearcher searcher;

    EngineSearch(Path path) throws IOException {
        directory = FSDirectory.open(path);
        reader = DirectoryReader.open(directory);
        searcher = new IndexSearcher(reader);
        searcher.setQueryCache(null);
    }

    /** Makes the index of all records, unless it is there. */
    static void make(Path path, BenchDatabase database, SearchFeed feed, int records) throws IOException, SQLException {
        String step = "engine";
        if (Files.isDirectory(path) && feed.step(step).records() == records) {
            return;
        }
        delete(path);
        long begin = System.nanoTime();
        try (FSDirectory directory = FSDirectory.open(path);
                IndexWriter writer = new IndexWriter(
                        directory, new IndexWriterConfig(new StandardAnalyzer()).setRAMBufferSizeMB(BUFFER_MEGABYTES));
                Connection connection = database.connect()) {
            connection.setAutoCommit(false);
            BenchDatabase.execute(connection, "set statement_timeout = 0");
            write(writer, connection, feed.project());
            writer.commit();
        }
        feed.note(step, records, begin);
    }

    private static void write(IndexWriter writer, Connection connection, UUID project)
            throws IOException, SQLException {
        // A single writer wrote them, so that they stand in the feed in the order of their ids.
        try (PreparedStatement select = connection.prepareStatement("""
                select action, actor_id, subject_id, outcome, host(ip_address) as ip_address, message,
                  extract(epoch from "timestamp")::bigint as "timestamp",
                  metadata ->> 'request_id' as request_id, metadata ->> 'region' as region
                from annals.audit_record where project_id = ? order by id""")) {
            select.setFetchSize(FETCH);
            select.setObject(1, project);
            try (ResultSet row = select.executeQuery()) {
                for (long place = 1; row.next(); place++) {
                    writer.addDocument(document(row, place));
                    if (place % PROGRESS == 0) {
                        Progress.say(String.format("  %,d records in the search engine", place));
                    }
                }
            }
        }
    }

    private static Document document(ResultSet row, long place) throws IOException, SQLException {
        Document document = new Document();
        document.add(new LongField(PLACE, place, Field.Store.NO));
        document.add(new LongField("timestamp", row.getLong("timestamp"), Field.Store.NO));
        for (String field :
                List.of("action", "actor_id", "subject_id", "outcome", "ip_address", "request_id", "region")) {
            document.add(new StringField(field, row.getString(field), Field.Store.NO));
        }
        document.add(new InetAddressPoint("network", InetAddress.getByName(row.getString("ip_address"))));
        document.add(new TextField("message", row.getString("message").replace('_', ' '), Field.Store.NO));
        return document;
    }

    static long bytes(Path path) throws IOException {
        long bytes = 0;
        try (Stream<Path> files = Files.list(path)) {
            for (Path file : files.toList()) {
                bytes += Files.size(file);
            }
        }
        return bytes;
    }

    static void delete(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            try (Stream<Path> files = Files.list(path)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(path);
        }
    }

    SearchPages.Found find(boolean ascending, int wanted, Question question) throws IOException {
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        for (Question.Clause clause : question.clauses()) {
            if (clause.type() == Question.Type.NOT_TERM) {
                all.add(new MatchAllDocsQuery(), Occur.FILTER);
                all.add(query(clause), Occur.MUST_NOT);
            } else {
                all.add(query(clause), Occur.FILTER);
            }
        }
        Sort byPlace = new Sort(new SortedNumericSortField(PLACE, SortField.Type.LONG, !ascending));
        return new SearchPages.Found(searcher.search(all.build(), wanted, byPlace).scoreDocs.length, 1, true);
    }

    private static Query query(Question.Clause clause) throws IOException {
        String field = clause.field();
        List<String> values = clause.values();
        String first = values.get(0).toLowerCase(Locale.ROOT);
        return switch (clause.type()) {
            case TERM ->
                values.size() == 1
                        ? new TermQuery(new Term(field, first))
                        : new TermInSetQuery(
                                field, values.stream().map(BytesRef::new).toList());
            case NOT_TERM -> new TermQuery(new Term(field, first));
            case PREFIX -> new PrefixQuery(new Term(field, first));
            case PHRASE -> new PhraseQuery(field, values.toArray(String[]::new));
            case NETWORK ->
                InetAddressPoint.newPrefixQuery("network", InetAddress.getByName(first.replaceAll("/.*", "")), 24);
            case TIME -> LongField.newRangeQuery(field, Long.parseLong(first), Long.parseLong(values.get(1)) - 1);
        };
    }

    @Override
    public void close() throws IOException {
        reader.close();
        directory.close();
    }
}
