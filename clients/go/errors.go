package linkscore

import (
	"errors"
	"fmt"
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
	// Violations are the fields of the request that break a rule.
	Violations []*errdetails.BadRequest_FieldViolation
	Metadata   map[string]string

	cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("linkscore: %s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the status of an error of this package, codes.OK for nil and codes.Unknown for any other.
func CodeOf(err error) codes.Code {
	var ours *Error
	if errors.As(err, &ours) {
		return ours.Code
	}
	return status.Code(err)
}

// fromGRPC returns what a call failed with as an *Error; nil as it is.
func fromGRPC(err error) error {
	said, ok := status.FromError(err)
	if err == nil || !ok {
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
			made.Violations = d.GetFieldViolations()
		}
	}
	return made
}
