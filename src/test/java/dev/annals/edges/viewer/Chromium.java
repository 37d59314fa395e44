package dev.annals.edges.viewer;

import static dev.annals.Tools.need;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.ConsoleMessage;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/** A real browser without a window, and a guard over what its pages do. */
public final class Chromium implements AutoCloseable {

    private static final double PATIENCE_MILLIS = 30_000;

    private final Playwright playwright;
    private final Browser browser;

    private Chromium(Path executable) {
        playwright = Playwright.create(
                new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
        browser = playwright
                .chromium()
                .launch(new BrowserType.LaunchOptions()
                        .setExecutablePath(executable)
                        .setArgs(List.of(
                                "--no-sandbox",
                                "--disable-gpu",
                                "--disable-background-networking",
                                "--disable-sync",
                                "--no-first-run")));
        PlaywrightAssertions.setDefaultAssertionTimeout(PATIENCE_MILLIS);
    }

    /** Starts the browser. */
    public static Chromium start() {
        // The first is the same browser without the windows of a desktop, which take longer to open than our pages.
        Optional<Path> executable = Stream.of(
                        "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
                .map(name -> Path.of("/usr/bin", name))
                .filter(Files::isExecutable)
                .findFirst();
        need(executable.isPresent(), "a browser, such as /usr/bin/chromium");
        return new Chromium(executable.get());
    }

    /** A context that also visits other servers than the one that is tested. */
    BrowserContext context(Browser.NewContextOptions options) {
        BrowserContext context = browser.newContext(options);
        context.setDefaultTimeout(PATIENCE_MILLIS);
        return context;
    }

    /** A page of a context of its own, as a person has it who was never here before. */
    public Guarded open(Browser.NewContextOptions options, URI origin) {
        return new Guarded(context(options), origin);
    }

    @Override
    public void close() {
        playwright.close();
    }

    /** A page whose scripts, dialogs, console and requests are watched. */
    public static final class Guarded implements AutoCloseable {

        public final Page page;

        private final BrowserContext context;
        private final List<String> complaints = new CopyOnWriteArrayList<>();

        Guarded(BrowserContext context, URI origin) {
            this.context = context;
            context.onRequest(request -> {
                URI target = URI.create(request.url().replaceAll("[?#].*", ""));
                if (target.getPort() != origin.getPort() || !target.getHost().equals(origin.getHost())) {
                    complaints.add("request to " + request.url());
                }
            });
            page = context.newPage();
            page.onDialog(dialog -> {
                complaints.add("dialog " + dialog.message());
                dialog.dismiss();
            });
            page.onPageError(error -> complaints.add("uncaught " + error));
            page.onConsoleMessage(this::console);
        }

        // The browser reports answers with an error status and cut connections by itself; tests provoke both.
        private void console(ConsoleMessage message) {
            if (!message.type().equals("log")
                    && !message.text().startsWith("Failed to load resource")
                    && !message.text().contains("net::ERR_")) {
                complaints.add(message.type() + " " + message.text());
            }
        }

        /** Closes the page, having checked that it did nothing that it must not do. */
        @Override
        public void close() {
            // A request that is answered by the test while its page closes would fail the test.
            page.unrouteAll();
            context.close();
            assertThat(complaints).isEmpty();
        }
    }
}
