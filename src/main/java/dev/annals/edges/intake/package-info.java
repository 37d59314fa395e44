/** Records in other formats: OTLP logs and CloudEvents. */
@NullMarked
package dev.annals.edges.intake;

import org.jspecify.annotations.NullMarked;
