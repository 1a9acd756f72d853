from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_VALUE: _ClassVar[ErrorReason]
    ERROR_REASON_REQUIRED: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_ITEMS: _ClassVar[ErrorReason]
    ERROR_REASON_RELATIVE_URL: _ClassVar[ErrorReason]
    ERROR_REASON_UNSUPPORTED_SCHEME: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_URL: _ClassVar[ErrorReason]
    ERROR_REASON_TRUNCATED_BODY: _ClassVar[ErrorReason]
    ERROR_REASON_BODY_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_POLICY: _ClassVar[ErrorReason]
    ERROR_REASON_CRAWL_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_SITE_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_CRAWL_EXISTS: _ClassVar[ErrorReason]
    ERROR_REASON_SITE_NOT_LEARNED: _ClassVar[ErrorReason]
    ERROR_REASON_LIMIT_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_SERVING: _ClassVar[ErrorReason]
    ERROR_REASON_BAD_TOKEN: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_CORRUPT_STATE: _ClassVar[ErrorReason]
    ERROR_REASON_UNSUPPORTED_ENCODING: _ClassVar[ErrorReason]
    ERROR_REASON_CORRUPT_BODY: _ClassVar[ErrorReason]
    ERROR_REASON_NO_RULES: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_ALLOWED: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_MESSAGE: _ClassVar[ErrorReason]
    ERROR_REASON_CALLER_GONE: _ClassVar[ErrorReason]
    ERROR_REASON_DISK_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_POLICY_FAILED: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_INVALID_VALUE: ErrorReason
ERROR_REASON_REQUIRED: ErrorReason
ERROR_REASON_TOO_MANY_ITEMS: ErrorReason
ERROR_REASON_RELATIVE_URL: ErrorReason
ERROR_REASON_UNSUPPORTED_SCHEME: ErrorReason
ERROR_REASON_MALFORMED_URL: ErrorReason
ERROR_REASON_TRUNCATED_BODY: ErrorReason
ERROR_REASON_BODY_TOO_LARGE: ErrorReason
ERROR_REASON_UNKNOWN_POLICY: ErrorReason
ERROR_REASON_CRAWL_NOT_FOUND: ErrorReason
ERROR_REASON_SITE_NOT_FOUND: ErrorReason
ERROR_REASON_CRAWL_EXISTS: ErrorReason
ERROR_REASON_SITE_NOT_LEARNED: ErrorReason
ERROR_REASON_LIMIT_EXCEEDED: ErrorReason
ERROR_REASON_NOT_SERVING: ErrorReason
ERROR_REASON_BAD_TOKEN: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_CORRUPT_STATE: ErrorReason
ERROR_REASON_UNSUPPORTED_ENCODING: ErrorReason
ERROR_REASON_CORRUPT_BODY: ErrorReason
ERROR_REASON_NO_RULES: ErrorReason
ERROR_REASON_NOT_ALLOWED: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_MALFORMED_MESSAGE: ErrorReason
ERROR_REASON_CALLER_GONE: ErrorReason
ERROR_REASON_DISK_FULL: ErrorReason
ERROR_REASON_POLICY_FAILED: ErrorReason
