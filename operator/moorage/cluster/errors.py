"""What can go wrong between Moorage and the API server, each as one readable sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_MAX_RETRY_AFTER_SECONDS = 300.0
"""Nobody is obeyed for longer, lest a misguided proxy turns the operator off."""

_SHOWN_CHARACTERS = 300
"""How much of a body that is not a Status (a proxy's page of HTML, for one) goes into a message."""


class ClusterError(Exception):
    """The common base: something that talks to the cluster did not get what it asked for."""

    retry_after_seconds: float = 0.0
    """How long the server asked us to wait; 0 when it did not say."""

    @property
    def stale(self) -> bool:
        """True when a watch that resumes from the same version would fail again, so that there must be a new list."""
        return False


class CredentialsError(ClusterError):
    """There are no usable credentials; the text names the file or context and what to do."""


class UnreachableError(ClusterError):
    """The API server did not answer, or the connection broke."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
        """False when the request certainly did not reach the server, so that even a create may be repeated."""


class SilentError(UnreachableError):
    """A connection on which no byte came for longer than is allowed."""


class MalformedError(ClusterError):
    """The server answered something that an API server does not send."""

    @property
    def stale(self) -> bool:
        """True: the same may come again."""
        return True


class ApiError(ClusterError):
    """The API server refused a request; the fields are those of `metav1.Status`."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_seconds: float = 0.0,
    ) -> None:
        super().__init__(message or reason or f"the API server answered {status}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        self.retry_after_seconds = retry_after_seconds

    @property
    def unauthorized(self) -> bool:
        """True when the credentials were not accepted."""
        return self.status == 401

    @property
    def forbidden(self) -> bool:
        """True when the credentials are known and lack the right."""
        return self.status == 403

    @property
    def not_found(self) -> bool:
        """True when the object or the whole resource does not exist."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """True when the object exists, changed meanwhile, or has another field manager."""
        return self.status == 409

    @property
    def gone(self) -> bool:
        """True when a resource version or continue token is older than what the server still has."""
        return self.status == 410 or self.reason in {"Expired", "Gone"}

    @property
    def invalid(self) -> bool:
        """True when the server does not take the request as it is."""
        return self.status in {400, 422}

    @property
    def too_many_requests(self) -> bool:
        """True when the server asks to slow down; see `retry_after_seconds`."""
        return self.status == 429

    @property
    def too_new(self) -> bool:
        """True when a resource version was asked for that the server has not reached."""
        causes = self.details.get("causes") or ()
        return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes if isinstance(cause, dict))

    @property
    def stale(self) -> bool:
        """True when the version, or anything else in the request, is not taken."""
        return self.gone or self.too_new or self.invalid

    @property
    def refused(self) -> bool:
        """True when it takes somebody to change rights, credentials or what is served."""
        return self.unauthorized or self.forbidden or self.not_found

    @property
    def temporary(self) -> bool:
        """True when the same request may work a little later."""
        return self.too_many_requests or self.status >= 500


class _Status(msgspec.Struct):
    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


def api_error(status: int, body: bytes, *, retry_after: str = "") -> ApiError:
    """Make the error of an HTTP status (0: unknown, as in a watch's ERROR event), its body and its Retry-After.

    A `Retry-After` in seconds is understood; a date is not (the API server sends none) and counts as none.
    """
    try:
        parsed = _decode_status(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        parsed = _Status(message=_first_line(body))
    details = parsed.details or {}
    asked = details.get("retryAfterSeconds", 0)
    seconds = float(asked) if isinstance(asked, int | float) else 0.0
    if retry_after.strip().isdigit():
        seconds = max(seconds, float(retry_after))
    code = status or parsed.code or 500
    message = parsed.message or f"the API server answered {code}"
    seconds = min(seconds, _MAX_RETRY_AFTER_SECONDS)
    return ApiError(code, parsed.reason, message, details=details, retry_after_seconds=seconds)


def _first_line(body: bytes) -> str:
    text = body[: 4 * _SHOWN_CHARACTERS].decode("utf-8", "replace").strip()
    return text.splitlines()[0][:_SHOWN_CHARACTERS] if text else ""
