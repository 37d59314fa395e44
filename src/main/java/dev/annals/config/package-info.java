/** The settings of the service that belong to no feature, and the limits of all settings. */
@NullMarked
package dev.annals.config;

import org.jspecify.annotations.NullMarked;
