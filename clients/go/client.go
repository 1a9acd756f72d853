// Package linkscore is the Go client of a linkscore server, which tells a crawler which links to follow.
//
//	client, err := linkscore.New("localhost:7411")
//	crawl, err := client.EnsureCrawl(ctx, "books", linkscore.Policy("harvest"))
//	links, err := crawl.Ingest(ctx, linkscore.Page{URL: u, StatusCode: 200, Body: body})
//
// Keep the bucket and the ticket of every link with its URL: Crawl.RankBuckets says which bucket to fetch from
// next, and the ticket goes back with the page it led to. Frontier does both for a crawler without a queue of
// its own. The generated messages are in package linkscorev1 for everything that has no helper here.
package linkscore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"

	pb "linkscore.example/go/linkscorev1"
)

// Version of the client; the server's minor version should be at least this one's.
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

// reconnect is gRPC's own wait between attempts to connect, bounded by 5 s instead of two minutes: a server that was
// restarted is found at the next probe.
var reconnect = backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: .2, MaxDelay: longestProbe}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	// Links, Crawls, Sites, BrowseLogs and Inspection are the generated stubs; calls through them carry the token and the
	// deadline of this client too, and fail with *Error.
	Links      pb.LinkScoringServiceClient
	Crawls     pb.CrawlServiceClient
	Sites      pb.SiteModelServiceClient
	BrowseLogs pb.BrowseLogServiceClient
	Inspection pb.InspectionServiceClient

	conn *grpc.ClientConn
}

// Option sets up a Client.
type Option func(*settings)

type settings struct {
	timeout time.Duration
	token   func() (string, error)
	tls     *tls.Config
	dial    []grpc.DialOption
	wrong   error // an option that cannot be carried out
}

// WithTimeout bounds every unary call whose context has no deadline of its own; DefaultTimeout if not given.
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithToken sends a bearer token with every call. Send it over TLS only, or on the loopback interface.
func WithToken(token string) Option {
	return func(s *settings) { s.token = func() (string, error) { return token, nil } }
}

// WithTokenFile sends the bearer token that a file holds; it is read at every call, so that it may be rotated. While it
// is missing or empty the last token is sent.
func WithTokenFile(path string) Option {
	return func(s *settings) {
		var last atomic.Pointer[string]
		s.token = func() (string, error) {
			raw, err := os.ReadFile(path)
			token := strings.TrimSpace(string(raw))
			if token != "" {
				last.Store(&token)
			} else if known := last.Load(); known != nil {
				return *known, nil
			}
			return token, err
		}
	}
}

// WithTLS encrypts the connection; nil takes the roots of the system.
func WithTLS(config *tls.Config) Option {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return func(s *settings) { s.tls = config }
}

// WithDialOptions adds gRPC dial options, which win over those of this package.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dial = append(s.dial, options...) }
}

// WithCAFile encrypts the connection to a server whose certificate is of the authority in a PEM file.
func WithCAFile(path string) Option {
	return func(s *settings) {
		pem, err := os.ReadFile(path)
		if err != nil {
			s.wrong = fmt.Errorf("linkscore: CA file: %w", err)
			return
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			s.wrong = fmt.Errorf("linkscore: CA file %s holds no certificate in PEM", path)
			return
		}
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	}
}

// New returns a client of the server at host:port. It connects at the first call, and again when the server
// was away. Close it when the crawl is over.
func New(target string, options ...Option) (*Client, error) {
	s := settings{timeout: DefaultTimeout}
	for _, option := range options {
		option(&s)
	}
	if err := errors.Join(s.wrong, checkTarget(target)); err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if s.tls != nil {
		transport = credentials.NewTLS(s.tls)
	}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithUserAgent("linkscore-go/" + Version),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)),
		grpc.WithChainUnaryInterceptor(s.unary),
		grpc.WithChainStreamInterceptor(s.stream),
	}, s.dial...)
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, fmt.Errorf("linkscore: target %q: %w", target, err)
	}
	return &Client{
		Links:      pb.NewLinkScoringServiceClient(conn),
		Crawls:     pb.NewCrawlServiceClient(conn),
		Sites:      pb.NewSiteModelServiceClient(conn),
		BrowseLogs: pb.NewBrowseLogServiceClient(conn),
		Inspection: pb.NewInspectionServiceClient(conn),
		conn:       conn,
	}, nil
}

// checkTarget refuses what is no host:port; names that a resolver of gRPC reads, such as dns:///host:port, pass.
func checkTarget(target string) error {
	if scheme, _, found := strings.Cut(target, ":"); found && resolver.Get(scheme) != nil {
		return nil
	}
	if target == "" {
		return errors.New("linkscore: the target is empty; give host:port, for example localhost:7411")
	}
	if scheme, rest, found := strings.Cut(target, "://"); found {
		return fmt.Errorf("linkscore: target %q: leave out %s://, give host:port, for example %s", target, scheme, withPort(rest))
	}
	host, port, err := net.SplitHostPort(target)
	if number, bad := strconv.Atoi(port); err != nil || bad != nil || number < 1 || number > 65535 || host == "" || strings.ContainsAny(host, " /@") {
		return fmt.Errorf("linkscore: target %q: give host:port, for example %s", target, withPort(target))
	}
	return nil
}

// withPort guesses what was meant by a target that is none.
func withPort(target string) string {
	host, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(target), "/"), ":")
	if _, err := strconv.Atoi(host); err == nil {
		return "localhost:" + host
	}
	return cmp.Or(host, "localhost") + ":7411"
}

// Close ends the connection; calls under way fail.
func (c *Client) Close() error { return c.conn.Close() }

func (s settings) unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, err := s.authorized(ctx)
	if err != nil {
		return err
	}
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	return fromGRPC(invoke(ctx, method, request, reply, conn, options...))
}

func (s settings) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, err := s.authorized(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := open(ctx, desc, conn, method, options...)
	if err != nil {
		return nil, fromGRPC(err)
	}
	return typedStream{stream}, nil
}

func (s settings) authorized(ctx context.Context) (context.Context, error) {
	if s.token == nil {
		return ctx, nil
	}
	token, err := s.token()
	if err != nil {
		return nil, fmt.Errorf("linkscore: token: %w", err)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// typedStream gives the errors of a stream their type.
type typedStream struct{ grpc.ClientStream }

func (s typedStream) RecvMsg(m any) error { return fromGRPC(s.ClientStream.RecvMsg(m)) }
func (s typedStream) SendMsg(m any) error { return fromGRPC(s.ClientStream.SendMsg(m)) }
