package dev.annals.access.requests;

/** The format of the log's lines. */
public enum LogFormat {
    /** Text, as the framework writes it. */
    TEXT,
    /** JSON objects. */
    JSON
}
