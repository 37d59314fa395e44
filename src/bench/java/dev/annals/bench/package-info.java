/**
 * Benchmarks. Each {@link dev.annals.bench.Part} compares Annals with alternatives side by side, in one run, and writes
 * one section of {@code target/benchmarks.md}. Start reading at {@link dev.annals.bench.Benchmarks}.
 */
@NullMarked
package dev.annals.bench;

import org.jspecify.annotations.NullMarked;
