package dev.annals.bench.micro;

import com.fasterxml.uuid.Generators;
import com.fasterxml.uuid.NoArgGenerator;
import com.github.f4b6a3.uuid.factory.UuidFactory;
import com.github.f4b6a3.uuid.factory.standard.TimeOrderedEpochFactory;
import com.github.f4b6a3.uuid.factory.standard.TimeOrderedFactory;
import dev.annals.kernel.guid.SequentialGuid;
import java.util.UUID;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;

/** Drawing one key from a generator that all threads share. */
@State(Scope.Benchmark)
public class GuidBenchmark {

    private static final int BLOCK = 1000;

    private final SequentialGuid annals = new SequentialGuid();
    private final UuidFactory creatorV7 = new TimeOrderedEpochFactory();
    private final UuidFactory creatorV7PlusOne =
            TimeOrderedEpochFactory.builder().withIncrementPlus1().build();
    private final UuidFactory creatorV6 = new TimeOrderedFactory();
    private final NoArgGenerator jugV7 = Generators.timeBasedEpochGenerator();
    private final NoArgGenerator jugV6 = Generators.timeBasedReorderedGenerator();

    /** Annals. */
    @Benchmark
    public UUID sequentialGuid() {
        return annals.next();
    }

    /** Annals, many keys at once. */
    @Benchmark
    @OperationsPerInvocation(BLOCK)
    public void sequentialGuidBlock(Blackhole taken) {
        SequentialGuid.Block block = annals.reserve(BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            taken.consume(block.next());
        }
    }

    /** The JDK's random UUID, which is in no order. */
    @Benchmark
    public UUID randomUuid() {
        return UUID.randomUUID();
    }

    /** uuid-creator's version 7, which adds a random number within a millisecond. */
    @Benchmark
    public UUID creatorV7() {
        return creatorV7.create();
    }

    /** uuid-creator's version 7, which adds one within a millisecond. */
    @Benchmark
    public UUID creatorV7PlusOne() {
        return creatorV7PlusOne.create();
    }

    /** uuid-creator's version 6. */
    @Benchmark
    public UUID creatorV6() {
        return creatorV6.create();
    }

    /** java-uuid-generator's version 7. */
    @Benchmark
    public UUID jugV7() {
        return jugV7.generate();
    }

    /** java-uuid-generator's version 6. */
    @Benchmark
    public UUID jugV6() {
        return jugV6.generate();
    }
}
