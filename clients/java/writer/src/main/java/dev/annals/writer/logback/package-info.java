/** Audit records from log lines, for applications that log with Logback. Loaded only by those that name it. */
package dev.annals.writer.logback;
