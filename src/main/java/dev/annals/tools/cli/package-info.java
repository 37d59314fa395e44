/** The command-line client: follows, appends to and exports a project's feed over HTTP, without starting the service. */
@NullMarked
package dev.annals.tools.cli;

import org.jspecify.annotations.NullMarked;
