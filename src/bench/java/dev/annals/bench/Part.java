package dev.annals.bench;

/** One topic of the benchmarks, and one section of the report. */
public interface Part {

    /** Its name on the command line and the marker of its section. */
    String name();

    /** The heading of its section. */
    String title();

    /**
     * Measures and describes.
     *
     * @param server a running PostgreSQL
     * @return the section's Markdown, without its heading
     */
    String run(BenchServer server, Settings settings) throws Exception;
}
