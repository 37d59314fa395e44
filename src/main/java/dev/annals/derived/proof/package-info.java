/** The secrets of logs: keys that sign notes, and the seeds of salts as they are stored. */
@NullMarked
package dev.annals.derived.proof;

import org.jspecify.annotations.NullMarked;
