package dev.annals.derived.proof;

import dev.annals.proof.Checkpoint;
import dev.annals.proof.Note;
import dev.annals.proof.VerifierKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.interfaces.EdECPublicKey;
import java.security.spec.EdECPrivateKeySpec;
import java.security.spec.NamedParameterSpec;
import java.util.Base64;
import java.util.List;

/** The Ed25519 key of a log, which signs notes. No method shows it. */
public final class SigningKey {

    private static final int SEED_BYTES = 32;
    private static final String EM_DASH = "\u2014";

    private final VerifierKey verifier;
    private final PrivateKey key;

    private SigningKey(VerifierKey verifier, PrivateKey key) {
        this.verifier = verifier;
        this.key = key;
    }

    /**
     * Makes the key of a log.
     *
     * @param name the log's origin
     * @param seed 32 secret bytes: the private key of RFC 8032
     */
    public static SigningKey of(String name, byte[] seed) {
        if (seed.length != SEED_BYTES) {
            throw new IllegalArgumentException("an Ed25519 key has " + SEED_BYTES + " bytes");
        }
        byte[] secret = seed.clone();
        try {
            PrivateKey key = KeyFactory.getInstance("Ed25519")
                    .generatePrivate(new EdECPrivateKeySpec(NamedParameterSpec.ED25519, secret));
            SigningKey signing = new SigningKey(VerifierKey.ofLog(name, publicKey(secret)), key);
            // Java derives no public key from a private one, but its generator makes both from random bytes. The
            // signature is verified,
            // which shows whether the generator used the given bytes.
            signing.sign("");
            return signing;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java cannot sign with Ed25519", e);
        }
    }

    private static byte[] publicKey(byte[] secret) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("Ed25519");
        generator.initialize(NamedParameterSpec.ED25519, new FixedBytes(secret));
        EdECPublicKey key = (EdECPublicKey) generator.generateKeyPair().getPublic();
        byte[] encoded = new byte[SEED_BYTES];
        byte[] y = key.getPoint().getY().toByteArray();
        for (int i = 0; i < Math.min(y.length, SEED_BYTES); i++) {
            encoded[i] = y[y.length - 1 - i];
        }
        if (key.getPoint().isXOdd()) {
            encoded[SEED_BYTES - 1] |= (byte) 0x80;
        }
        return encoded;
    }

    @SuppressWarnings("serial") // never written
    private static final class FixedBytes extends SecureRandom {

        private final transient byte[] bytes;

        FixedBytes(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public void nextBytes(byte[] target) {
            System.arraycopy(bytes, 0, target, 0, target.length);
        }
    }

    public VerifierKey verifier() {
        return verifier;
    }

    public static Note sign(Checkpoint checkpoint, List<SigningKey> keys) {
        String text = checkpoint.text();
        return new Note(text, keys.stream().map(key -> key.sign(text)).toList());
    }

    /**
     * Signs a text that ends with a newline.
     *
     * @return a line of a note, with its newline
     */
    public String sign(String text) {
        try {
            Signature signer = Signature.getInstance("Ed25519");
            signer.initSign(key);
            signer.update(text.getBytes(StandardCharsets.UTF_8));
            byte[] signature = signer.sign();
            // A faulty signature can reveal the key.
            if (!verifier.verifies(text, signature)) {
                throw new IllegalStateException("a signature that was just made does not hold");
            }
            byte[] line = ByteBuffer.allocate(Integer.BYTES + signature.length)
                    .putInt(verifier.id())
                    .put(signature)
                    .array();
            return EM_DASH + " " + verifier.name() + " " + Base64.getEncoder().encodeToString(line) + "\n";
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java cannot sign with Ed25519", e);
        }
    }
}
