package dev.annals.access.places;

import dev.annals.kernel.database.Database;
import dev.annals.kernel.database.Databases;
import jakarta.inject.Singleton;
import java.util.UUID;

/** The map from projects to databases. It is a hint: the project's row in its database decides. */
@Singleton
public class Places {

    private final Databases databases;

    Places(Databases databases) {
        this.databases = databases;
    }

    /** The database where the project is, as far as this instance knows. It never waits. */
    public Database of(UUID projectId) {
        return databases.home();
    }
}
