package dev.annals.core.query;

/** Which way a page goes. */
public enum Order {
    /** Oldest first: the order of commits. */
    ASCENDING,
    /** Newest first. */
    DESCENDING
}
