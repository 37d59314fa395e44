/**
 * Writes audit records to Annals and loses none of them: {@link dev.annals.writer.AuditLog} is where to begin. For Java 11, and
 * without any other library.
 */
package dev.annals.writer;
