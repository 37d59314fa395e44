package dev.annals.proof;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.EdECPoint;
import java.security.spec.EdECPublicKeySpec;
import java.security.spec.NamedParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The public Ed25519 key of a signer of notes, as in C2SP signed-note: {@code name+id+key}.
 */
public final class VerifierKey {

    private static final byte ED25519 = 1;
    /** The type of a witness's key, which signs a time together with the text: C2SP tlog-cosignature. */
    static final byte COSIGNATURE = 4;

    private static final int KEY_BYTES = 32;
    private static final int SIGNATURE_BYTES = 64;
    private static final Pattern TEXT =
            Pattern.compile("([^+\\s\\p{Z}\\p{Cntrl}]{1,1024})\\+([0-9a-f]{8})\\+([0-9A-Za-z+/=]{1,64})");

    private final String name;
    private final byte type;
    private final int id;
    private final byte[] bytes;
    private final PublicKey key;

    private VerifierKey(String name, byte type, byte[] bytes) {
        this.name = name;
        this.type = type;
        this.bytes = bytes.clone();
        this.id = id(name, type, bytes);
        this.key = key(bytes);
    }

    /**
     * Makes the key of a log.
     *
     * @param bytes 32, as in RFC 8032
     */
    public static VerifierKey ofLog(String name, byte[] bytes) {
        return new VerifierKey(name, ED25519, bytes);
    }

    private static int id(String name, byte type, byte[] bytes) {
        byte[] head = (name + "\n").getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.wrap(Hash.of(head, new byte[] {type}, bytes).bytes()).getInt();
    }

    private static PublicKey key(byte[] bytes) {
        byte[] y = new byte[KEY_BYTES];
        for (int i = 0; i < KEY_BYTES; i++) {
            y[i] = bytes[KEY_BYTES - 1 - i];
        }
        boolean xOdd = y[0] < 0;
        y[0] &= 0x7f;
        try {
            return KeyFactory.getInstance("Ed25519")
                    .generatePublic(new EdECPublicKeySpec(
                            NamedParameterSpec.ED25519, new EdECPoint(xOdd, new BigInteger(1, y))));
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("these are no 32 bytes of an Ed25519 key", e);
        }
    }

    /**
     * Reads the text form of a log's key.
     *
     * @throws IllegalArgumentException if it is not the text of an Ed25519 key
     */
    public static VerifierKey parse(String text) {
        return parse(text, ED25519);
    }

    static VerifierKey parse(String text, byte type) {
        Matcher matcher = TEXT.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("\"" + text + "\" is no key: it looks like name+id+key");
        }
        byte[] encoded = Base64.getDecoder().decode(matcher.group(3));
        if (encoded.length != 1 + KEY_BYTES || encoded[0] != type) {
            throw new IllegalArgumentException("the key " + matcher.group(1) + " is not "
                    + (type == ED25519 ? "that of a log, of type 1" : "that of a witness, of type 4") + " (Ed25519)");
        }
        VerifierKey key = new VerifierKey(matcher.group(1), type, Arrays.copyOfRange(encoded, 1, encoded.length));
        if (!key.toString().equals(text)) {
            throw new IllegalArgumentException("the key " + matcher.group(1) + " has the id "
                    + HexFormat.of().toHexDigits(key.id) + ", and not " + matcher.group(2));
        }
        return key;
    }

    /** The name of the signer: a log's origin. */
    public String name() {
        return name;
    }

    /** The id that signatures carry. */
    public int id() {
        return id;
    }

    public boolean verifies(String text, byte[] signature) {
        if (signature.length != SIGNATURE_BYTES) {
            return false;
        }
        try {
            Signature verifier = Signature.getInstance("Ed25519");
            verifier.initVerify(key);
            verifier.update(text.getBytes(StandardCharsets.UTF_8));
            return verifier.verify(signature);
        } catch (GeneralSecurityException e) {
            // The bytes are not a signature.
            return false;
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VerifierKey key && toString().equals(key.toString());
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    @Override
    public String toString() {
        byte[] encoded = new byte[1 + KEY_BYTES];
        encoded[0] = type;
        System.arraycopy(bytes, 0, encoded, 1, KEY_BYTES);
        return name + "+" + HexFormat.of().toHexDigits(id) + "+"
                + Base64.getEncoder().encodeToString(encoded);
    }
}
