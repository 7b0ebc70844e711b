"""What the API server asks a webhook, and what it is told: AdmissionReview of admission.k8s.io/v1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

API_VERSION = "admission.k8s.io/v1"

T = TypeVar("T")


class MalformedReviewError(Exception):
    """A body that is no AdmissionReview, or one about an object that is not what it says; the text tells where."""


class Kind(msgspec.Struct, frozen=True):
    """The kind of the object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Resource(msgspec.Struct, frozen=True):
    """The resource that the request is for."""

    group: str = ""
    version: str = ""
    resource: str = ""


class ReviewRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request to the API server that waits for our answer; its objects are still encoded."""

    uid: Annotated[str, Meta(min_length=1, max_length=256)]
    kind: Kind
    resource: Resource
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def target(self) -> str:
        """What is written to, as RBAC names it: `pods`, `pods/resize`, `deployments.apps`, `deployments.apps/scale`."""
        resource = f"{self.resource.resource}.{self.resource.group}" if self.resource.group else self.resource.resource
        return f"{resource}/{self.sub_resource}" if self.sub_resource else resource


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: ReviewRequest


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server is told; `message` is why not, when it is not allowed."""

    allowed: bool = True
    message: str = ""
    warnings: tuple[str, ...] = ()
    """Lines that clients such as kubectl print, allowed or not."""


_decode_review = msgspec.json.Decoder(_Review).decode


def read_review(body: bytes) -> ReviewRequest:
    """Read a request.

    Raises MalformedReviewError.
    """
    try:
        return _decode_review(body).request
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"the body is no AdmissionReview of {API_VERSION}: {error}") from error


def read_object(encoded: msgspec.Raw, decoder: msgspec.json.Decoder[T], what: str) -> T:
    """Read an object of a request.

    Raises MalformedReviewError.
    """
    try:
        return decoder.decode(encoded)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedReviewError(f"{what} cannot be read: {error}") from error


def encoded_answer(uid: str, answer: Answer) -> bytes:
    """Return the body to answer with."""
    response: dict[str, Any] = {"uid": uid, "allowed": answer.allowed}
    if not answer.allowed:
        response["status"] = {
            "status": "Failure",
            "code": 403,
            "reason": "Forbidden",
            "message": answer.message,
        }
    if answer.warnings:
        response["warnings"] = answer.warnings
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})
