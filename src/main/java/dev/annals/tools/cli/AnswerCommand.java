package dev.annals.tools.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.quarkus.runtime.annotations.RegisterForReflection;
import picocli.CommandLine.Option;

/** A command that prints what the service answers: columns for people, or with {@code --json} the answer as it is. */
@RegisterForReflection
abstract class AnswerCommand extends ServiceCommand {

    @Option(names = "--json", description = "Print the service's answer: a line of JSON for each element.")
    boolean json;

    /** Prints an answer, or an element of a list. */
    final void print(JsonNode answer, String columns) {
        if (json) {
            Terminal.printLine(answer);
        } else {
            Terminal.print(columns);
        }
    }

    /** Prints one answer, for people over several lines. */
    final void show(JsonNode answer) {
        if (json) {
            Terminal.printLine(answer);
        } else {
            Terminal.print(answer);
        }
    }

    /** For answers that people need no output of: a sentence, which standard output does not get. */
    final void say(JsonNode answer, String sentence) {
        if (json) {
            Terminal.printLine(answer);
        } else {
            Terminal.say(sentence);
        }
    }
}
