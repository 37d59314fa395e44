package dev.annals.kernel.http;

/**
 * An error in one field of a request's body.
 *
 * @param pointer a JSON pointer (RFC 6901) into the body; empty for the body as a whole
 * @param detail the rule that the field breaks
 */
public record FieldError(String pointer, String detail) {}
