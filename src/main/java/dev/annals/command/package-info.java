/** Starts Quarkus for a command that was parsed before it, and ends the process with what came of it. */
@NullMarked
package dev.annals.command;

import org.jspecify.annotations.NullMarked;
