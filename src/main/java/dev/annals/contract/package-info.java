/** The contract of the API, {@code openapi.yaml}, as the service shows it. */
@NullMarked
package dev.annals.contract;

import org.jspecify.annotations.NullMarked;
