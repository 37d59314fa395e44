// Runs the witness of transparency-dev/witness: its state, its checks and its HTTP handler. It forgets what it has seen when it
// ends.
//
// Arguments: its name, and a file with the keys of the logs that it knows, one on each line, which is read at each request. It
// prints its own key, of Ed25519, and then the port on the loopback. It signs with another one as well, of ML-DSA-44.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	formats "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(name, logs string) error {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return err
	}
	signer, err := formats.NewSignerForCosignatureV1(secret)
	if err != nil {
		return err
	}
	// C2SP recommends that a witness may sign with several keys.
	other, _, err := formats.GenerateMLDSAKey(name)
	if err != nil {
		return err
	}
	otherSigner, err := formats.NewMLDSASigner(other)
	if err != nil {
		return err
	}
	vkey, err := formats.VKeyToCosignatureV1(public)
	if err != nil {
		return err
	}
	state, err := witness.New(context.Background(), witness.Opts{
		Persistence: inmemory.New(),
		Signers:     []note.Signer{otherSigner, signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			return known(logs, origin)
		},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(vkey)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	handler := http.NewServeMux()
	handler.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(state).AddCheckpoint)
	server := http.Server{Handler: handler, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	return server.Serve(listener)
}

func known(logs, origin string) (note.Verifier, bool, error) {
	text, err := os.ReadFile(logs)
	if err != nil {
		return nil, false, err
	}
	for _, vkey := range strings.Fields(string(text)) {
		key, err := note.NewVerifier(vkey)
		if err != nil {
			return nil, false, err
		}
		if key.Name() == origin {
			return key, true, nil
		}
	}
	return nil, false, nil
}
