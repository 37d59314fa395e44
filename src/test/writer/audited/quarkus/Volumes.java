package shop;

import jakarta.inject.Inject;
import jakarta.transaction.Synchronization;
import jakarta.transaction.TransactionSynchronizationRegistry;
import jakarta.transaction.Transactional;
import jakarta.ws.rs.BadRequestException;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;

@Path("/volumes/{name}")
public class Volumes {
    @Inject
    TransactionSynchronizationRegistry transaction;

    @PUT
    @Transactional
    @Audited("volume_create")
    public String create(@PathParam("name") String name) {
        if (name.equals("bad")) {
            throw new BadRequestException();
        }
        if (name.equals("late")) {
            transaction.registerInterposedSynchronization(new FailingCommit());
        }
        return name;
    }

    private static class FailingCommit implements Synchronization {
        @Override
        public void beforeCompletion() {
            throw new IllegalStateException("It cannot be committed");
        }

        @Override
        public void afterCompletion(int status) {}
    }
}
