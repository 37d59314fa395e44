/** Serves the contract of the API, {@code openapi.yaml}. */
@NullMarked
package dev.annals.edges.contract;

import org.jspecify.annotations.NullMarked;
