/** Objects in buckets of S3-compatible stores, which commands read and write. */
@NullMarked
package dev.annals.tools.bucket;

import org.jspecify.annotations.NullMarked;
