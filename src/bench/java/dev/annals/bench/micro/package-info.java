/** Small pieces of code, measured by JMH. */
@NullMarked
package dev.annals.bench.micro;

import org.jspecify.annotations.NullMarked;
