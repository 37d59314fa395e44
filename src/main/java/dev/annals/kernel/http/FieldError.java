package dev.annals.kernel.http;

/**
 * What is wrong with one field of a request's body.
 *
 * @param pointer where the field is: a JSON pointer (RFC 6901) into the body; empty for the body as a whole
 * @param detail what the field must be
 */
public record FieldError(String pointer, String detail) {}
