package dev.annals.kernel.http;

/**
 * An error in one field of a request's body.
 *
 * @param pointer a JSON pointer (RFC 6901); empty for the whole body
 * @param detail the rule that the field breaks
 */
public record FieldError(String pointer, String detail) {}
