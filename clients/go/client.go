// Package linkscore is the Go client of a linkscore server, which tells a crawler which links to follow.
//
//	client, err := linkscore.New("localhost:7411", linkscore.Options{})
//	crawl, err := client.EnsureCrawl(ctx, "books", &linkscorev1.Crawl{Policy: linkscore.Policy("harvest")})
//	results, err := crawl.Ingest(ctx, linkscore.Page{URL: u, StatusCode: 200, Body: body})
//
// Keep bucket and ticket of every link with its URL, or let a Session do so. The generated messages are in package
// linkscorev1 for everything that has no helper here.
package linkscore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	pb "linkscore.example/go/linkscorev1"
)

// Version of the client; the server's should be the same.
const Version = "0.1.0"

const (
	// DefaultTimeout bounds a call whose context has no deadline of its own.
	DefaultTimeout = 10 * time.Second
	// MaxMessageBytes is what the server accepts: a page may have 8 MiB, a call 500 pages.
	MaxMessageBytes = 64 << 20
)

// UNAVAILABLE is the only status after which a call can be repeated without knowing what it does; the server
// takes an event id twice and applies it once, so repeating IngestPages is safe.
const serviceConfig = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s",
"maxBackoff": "2s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// reconnect is gRPC's own wait between attempts to connect, bounded by 5 s instead of two minutes.
var reconnect = backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: .2, MaxDelay: longestProbe}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	// Generated stubs; calls through them carry the token and the deadline of this client too, and fail with *Error.
	Links  pb.LinkScoringServiceClient
	Crawls pb.CrawlServiceClient
	// Conn is for stubs of the other services.
	Conn *grpc.ClientConn
}

// Options set up a Client; the zero value is a plain connection without a token.
type Options struct {
	// Timeout bounds every unary call whose context has no deadline of its own; DefaultTimeout if 0.
	Timeout time.Duration
	// Token is a bearer token that is sent with every call. Send it over TLS only, or on the loopback interface.
	Token string
	// TokenFile holds it instead; it is read at every call, so that it may be rotated. While it is missing or empty the last
	// token is sent.
	TokenFile string
	// TLS encrypts the connection; an empty Config takes the roots of the system.
	TLS *tls.Config
	// CAFile encrypts it to a server whose certificate is of the authority in a PEM file.
	CAFile string
}

func checkTimeout(timeout time.Duration) error {
	if timeout <= 0 {
		return fmt.Errorf("linkscore: timeout %v: must be above 0, for example %v", timeout, DefaultTimeout)
	}
	return nil
}

func checkToken(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("linkscore: token must be one line of ASCII characters")
	}
	return nil
}

// transport is how a connection is encrypted.
func (o Options) transport() (credentials.TransportCredentials, error) {
	if o.CAFile == "" && o.TLS == nil {
		return insecure.NewCredentials(), nil
	}
	config := o.TLS.Clone()
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("linkscore: CA file: %w", err)
		}
		config = cmp.Or(config, &tls.Config{})
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("linkscore: CA file %s holds no certificate in PEM", o.CAFile)
		}
	}
	return credentials.NewTLS(config), nil
}

// bearer is a token as gRPC's credentials of a call.
type bearer struct {
	path string
	mu   sync.Mutex
	last string
}

func (b *bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path != "" {
		raw, err := os.ReadFile(b.path)
		b.last = cmp.Or(strings.TrimSpace(strings.TrimPrefix(string(raw), "\ufeff")), b.last)
		if b.last == "" {
			return nil, status.Errorf(codes.Unauthenticated, "linkscore: token file %s has no token: %v", b.path, err)
		}
	}
	return map[string]string{"authorization": "Bearer " + b.last}, nil
}

func (b *bearer) RequireTransportSecurity() bool { return false }

// New returns a client of the server at host:port, which connects at the first call. Close it when the crawl is over.
func New(target string, set Options) (*Client, error) {
	set.Timeout = cmp.Or(set.Timeout, DefaultTimeout)
	transport, err := set.transport()
	if err := errors.Join(err, checkTimeout(set.Timeout), checkToken(set.Token), checkTarget(target)); err != nil {
		return nil, err
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithUserAgent("linkscore-go/" + Version),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithChainUnaryInterceptor(set.unary),
	}
	if set.Token != "" || set.TokenFile != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(&bearer{path: set.TokenFile, last: set.Token}))
	}
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, fmt.Errorf("linkscore: target %q: %w", target, err)
	}
	return &Client{Links: pb.NewLinkScoringServiceClient(conn), Crawls: pb.NewCrawlServiceClient(conn), Conn: conn}, nil
}

// hostAndPort is the form of a target that no resolver of gRPC reads.
var hostAndPort = regexp.MustCompile(`^[^/@\s]+:([1-5]?\d{1,4}|6[0-5]\d{3})$`)

// checkTarget refuses what is no host:port; names that a resolver of gRPC reads, such as dns:///host:port, pass.
func checkTarget(target string) error {
	scheme, _, _ := strings.Cut(target, ":")
	if resolver.Get(scheme) == nil && !hostAndPort.MatchString(target) {
		return fmt.Errorf("linkscore: target %q: give host:port without a scheme, for example localhost:7411", target)
	}
	return nil
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.Conn.Close() }

func (o Options) unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	return fromGRPC(invoke(ctx, method, request, reply, conn, options...))
}
