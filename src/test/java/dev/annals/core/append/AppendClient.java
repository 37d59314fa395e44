package dev.annals.core.append;

import static dev.annals.AuditLogFixture.pathOf;

import dev.annals.AuditLogFixture.Project;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

/** Sends many requests at a time, and waits for none of them. */
final class AppendClient {

    private final URI service;
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    AppendClient(URI service) {
        this.service = service;
    }

    /** Appends a record or a batch, given as its JSON. */
    CompletableFuture<HttpResponse<String>> append(Project to, String body) {
        return post(to, pathOf(body), "application/json", body);
    }

    CompletableFuture<HttpResponse<String>> post(Project to, String path, String type, String body) {
        HttpRequest request = HttpRequest.newBuilder(service.resolve(path))
                .header("Authorization", "Bearer " + to.token())
                .header("Content-Type", type)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        return http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
    }
}
