package linkscore

import (
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is what a call failed with, its details decoded; errors.As finds it. Its code is a gRPC status: InvalidArgument
// (Violations name each field), ResourceExhausted (RetryAfter says when to come back), Unavailable (was retried already)...
type Error struct {
	Code    codes.Code
	Message string
	// Reason is the server's stable UPPER_SNAKE reason, empty if it gave none.
	Reason string
	// RetryAfter is how long the server asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	Violations []Violation
	Metadata   map[string]string

	cause error
}

// Violation is one field of a request that breaks a rule.
type Violation struct{ Field, Description, Reason string }

func (e *Error) Error() string {
	text := fmt.Sprintf("linkscore: %s: %s", e.Code, e.Message)
	for _, v := range e.Violations {
		text += fmt.Sprintf("; %s: %s", v.Field, v.Description)
	}
	return text
}

func (e *Error) Unwrap() error { return e.cause }

// Is reports that two errors of one code are alike, so that errors.Is(err, &linkscore.Error{Code: codes.NotFound}) works.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && (other.Reason == "" || other.Reason == e.Reason)
}

// CodeOf returns the status of an error of this package, codes.OK for nil and codes.Unknown for any other.
func CodeOf(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Code
	}
	return codes.Unknown
}

// FromGRPC returns what a call of a generated stub failed with as an *Error; nil and io.EOF as they are.
func FromGRPC(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	said, ok := status.FromError(err)
	if !ok {
		return err
	}
	made := &Error{Code: said.Code(), Message: said.Message(), cause: err}
	for _, detail := range said.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Reason, made.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.RetryInfo:
			made.RetryAfter = d.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				made.Violations = append(made.Violations, Violation{v.GetField(), v.GetDescription(), v.GetReason()})
			}
		}
	}
	return made
}
