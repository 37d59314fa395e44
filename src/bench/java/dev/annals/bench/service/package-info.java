/** The whole service over HTTP, beside an endpoint that runs one transaction a request. */
@NullMarked
package dev.annals.bench.service;

import org.jspecify.annotations.NullMarked;
