/** Records that come in formats of others: OTLP logs and CloudEvents. */
@NullMarked
package dev.annals.edges.intake;

import org.jspecify.annotations.NullMarked;
