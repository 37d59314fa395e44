package dev.annals.kernel.http;

import java.util.Locale;

/**
 * The kinds of problems in answers. The name is part of the API: {@code RECORD_ID_TAKEN} is sent as the type
 * {@code urn:annals:problem:record-id-taken}.
 */
public enum ProblemType {
    MALFORMED_JSON(400, "Malformed JSON"),
    MALFORMED_ENCODING(400, "Malformed encoding"),
    INVALID_PARAMETER(400, "Invalid parameter"),
    /** The cursor is not from this feed. */
    INVALID_CURSOR(400, "Invalid cursor"),
    /** The caller has several projects, and named none. */
    PROJECT_NEEDED(403, "Project needed"),
    UNAUTHORIZED(401, "Unauthorized"),
    FORBIDDEN(403, "Forbidden"),
    /** Also if the token may not see it. */
    NOT_FOUND(404, "Not found"),
    /** The log follows the feed within moments. */
    LOG_BEHIND(404, "Log behind"),
    METHOD_NOT_ALLOWED(405, "Method not allowed"),
    NOT_ACCEPTABLE(406, "Not acceptable"),
    BODY_TOO_SLOW(408, "Body too slow"),
    /** The cursor's record is gone: the database was restored or lost its newest records. */
    FEED_REWOUND(409, "Feed rewound"),
    /** Stored records do not match the signed log. */
    LOG_FORKED(409, "Log forked"),
    /** With other content. */
    RECORD_ID_TAKEN(409, "Record id taken"),
    PROJECT_NAME_TAKEN(409, "Project name taken"),
    PROJECT_CLOSED(409, "Project closed"),
    /** The token has ended, was replaced before, or is that of a link. */
    TOKEN_ENDED(409, "Token ended"),
    LEGAL_HOLD(409, "Legal hold"),
    ARCHIVE_NOT_NEXT(409, "Archive not next"),
    /** The project is moving or in the database already, or cannot move. */
    MOVE_REFUSED(409, "Move refused"),
    /** It is switched, or has ended. */
    MOVE_DECIDED(409, "Move decided"),
    /** With another definition. */
    SEQUENCE_EXISTS(409, "Sequence exists"),
    /** A sequence never starts again. */
    SEQUENCE_EXHAUSTED(409, "Sequence exhausted"),
    TOO_MANY_SEQUENCES(409, "Too many sequences"),
    TOO_MANY_STREAMS(409, "Too many streams"),
    TOO_MANY_ALERTS(409, "Too many alerts"),
    TOO_MANY_ACTIONS(409, "Too many actions"),
    TOO_MANY_VIEWS(409, "Too many views"),
    /** For the secrets of sinks. */
    NO_STREAMS_KEY(409, "No streams key"),
    /** Its name stays taken, since its values were issued. */
    SEQUENCE_DELETED(410, "Sequence deleted"),
    RECORDS_EXPIRED(410, "Records expired"),
    BODY_TOO_LARGE(413, "Body too large"),
    UNSUPPORTED_MEDIA_TYPE(415, "Unsupported media type"),
    /** In another database than those of this instance; {@code database} names it. */
    PROJECT_ELSEWHERE(421, "Project elsewhere"),
    /** The JSON is well-formed; {@code errors} names each wrong field. */
    INVALID_RECORD(422, "Invalid record"),
    ALL_LINES_REFUSED(422, "All lines refused"),
    TOO_MANY_RECORDS(422, "Too many records"),
    /** As {@link #INVALID_RECORD}, for other bodies. */
    INVALID_BODY(422, "Invalid body"),
    RESULT_TOO_LARGE(422, "Result too large"),
    TOO_MANY_FAILURES(429, "Too many failures"),
    /** The project's or the token's; {@code limit} names it. */
    LIMIT_EXCEEDED(429, "Limit exceeded"),
    /** {@code instance} is also in the log. */
    INTERNAL_ERROR(500, "Internal error"),
    QUEUE_FULL(503, "Queue full"),
    TOO_MANY_READERS(503, "Too many readers"),
    /** Also this caller's share. */
    OVERLOADED(503, "Overloaded"),
    /** No key signs the log, or an operator has to look at it. */
    LOG_HALTED(503, "Log halted"),
    /** To another database: it is open again in a moment. */
    PROJECT_MOVING(503, "Project moving"),
    /** The service is starting, stopping, or has lost its database. */
    UNAVAILABLE(503, "Unavailable"),
    /** Only an HTTP status; sent as {@code about:blank}. */
    OTHER(400, "Request failed");

    private final int status;
    private final String title;
    private final String uri;

    ProblemType(int status, String title) {
        this.status = status;
        this.title = title;
        this.uri = name().equals("OTHER")
                ? "about:blank"
                : "urn:annals:problem:" + name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public int status() {
        return status;
    }

    public String title() {
        return title;
    }

    public String uri() {
        return uri;
    }
}
