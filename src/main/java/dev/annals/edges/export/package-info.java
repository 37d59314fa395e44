/** Exports of whole feeds: NDJSON, CSV, CloudEvents and OCSF, streamed. */
@NullMarked
package dev.annals.edges.export;

import org.jspecify.annotations.NullMarked;
