// Runs the OpenID provider of zitadel/oidc: its protocol, its tokens and its login, with the storage and the people of its
// example server. It has keys that change at /test/rotate, of another kind than those of npm's provider, and forgets
// everything when it ends.
//
// Argument: the redirect URI of the viewer. It prints its issuer, and ends with its standard input.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	example "github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const audience = "urn:annals:test"

func main() {
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(redirectURI string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// Its clients have to write the issuer with the slash, too.
	issuer := fmt.Sprintf("http://localhost:%d/", listener.Addr().(*net.TCPAddr).Port)
	example.RegisterClients(example.NativeClient("annals-viewer", redirectURI))
	state := &storage{Storage: example.NewStorage(example.NewUserStore(issuer))}
	if err := state.rotate(); err != nil {
		return err
	}
	provider := exampleop.SetupServer(issuer, state, nil, false)
	provider.Post("/test/rotate", func(response http.ResponseWriter, _ *http.Request) {
		if err := state.rotate(); err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
		}
	})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(issuer)
	return http.Serve(listener, provider)
}

// The example's storage, where tokens of access are JWTs for the tests' audience, and keys can change.
type storage struct {
	*example.Storage
	lock sync.Mutex
	key  key
}

type key struct {
	id     string
	secret *ecdsa.PrivateKey
}

func (k key) ID() string                                  { return k.id }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES384 }
func (k key) Key() any                                    { return k.secret }

type publicKey struct{ key }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.ES384 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return k.secret.Public() }

// A client whose tokens of access are signed, and whose ID tokens have the claims of its scopes.
type client struct{ op.Client }

func (client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (client) IDTokenUserinfoClaimsAssertion() bool { return true }

func (s *storage) rotate() error {
	secret, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.key = key{uuid.NewString(), secret}
	return nil
}

func (s *storage) current() key {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.key
}

func (s *storage) SigningKey(context.Context) (op.SigningKey, error) {
	return s.current(), nil
}

func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES384}, nil
}

func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey{s.current()}}, nil
}

func (s *storage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	found, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return client{found}, nil
}

func (s *storage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	found, err := s.Storage.ClientCredentials(ctx, id, secret)
	if err != nil {
		return nil, err
	}
	return client{found}, nil
}

func (s *storage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{"urn:another", audience}, Scopes: scopes}, nil
}

func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return map[string]any{"https://example.org/roles": []string{"archivist"}}, nil
}
