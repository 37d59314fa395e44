/** Whole feeds as files: NDJSON, CSV, CloudEvents and OCSF, streamed. */
@NullMarked
package dev.annals.edges.export;

import org.jspecify.annotations.NullMarked;
