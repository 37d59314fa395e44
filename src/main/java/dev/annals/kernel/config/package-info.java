/**
 * The settings of the service that belong to no feature, and the limits of all settings. Each setting can be given in the
 * environment, where {@code annals.database.pool-size} is {@code ANNALS_DATABASE_POOL_SIZE}, as a system property, or in
 * {@code config/application.properties}. A value outside its limits stops the service at start. {@code docs/settings.md} is
 * made from the Javadoc of these interfaces.
 */
@NullMarked
package dev.annals.kernel.config;

import org.jspecify.annotations.NullMarked;
