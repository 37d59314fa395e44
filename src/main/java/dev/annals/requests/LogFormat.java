package dev.annals.requests;

/** How the lines of the log of requests are written. */
public enum LogFormat {
    /** {@code name=value} pairs. */
    TEXT,
    /** JSON objects. */
    JSON,
    /** Not at all. */
    OFF
}
