/** How the service shows the contract of its API, {@code openapi.yaml}. */
@NullMarked
package dev.annals.edges.contract;

import org.jspecify.annotations.NullMarked;
