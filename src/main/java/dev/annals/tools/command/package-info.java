/** Starts Quarkus for a command that has been parsed already, and ends the process with its exit code. */
@NullMarked
package dev.annals.tools.command;

import org.jspecify.annotations.NullMarked;
