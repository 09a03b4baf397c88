"""Scope and identity checks, in the order in which a request must pass them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from cartsvc.api.authentication import REALM, bearer_of, parse_guid
from cartsvc.api.envelope import Problem, Refused, refuse

if TYPE_CHECKING:  # the framework's views import their permission classes
    from rest_framework.views import APIView

READ = ("Cart.Read", "Cart.Write")
WRITE = ("Cart.Write",)


class GuidConverter:
    """A path segment that should be a GUID.

    Takes any segment, because what is no GUID is 400 with an envelope and only after
    authentication; `HasValidPath` refuses it.
    """

    regex = "[^/]+"

    def to_python(self, value: str) -> UUID | str:
        return parse_guid(value) or value

    def to_url(self, value: UUID | str) -> str:
        return str(value)


# How the specification names the keys in the path.
PATH_NAMES = {"profile_key": "profileKey", "cart_id": "cartId", "item_id": "itemId"}


class HasScope(BasePermission):
    """The token carries one of the scopes that the view requires of its action."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        action = getattr(view, "action", None)
        # A method that the path does not have; the framework calls OPTIONS "metadata".
        if action in {None, "metadata"}:
            return True
        required = getattr(view, "required_scopes", {}).get(action)
        if required is None:
            raise ImproperlyConfigured(f"{type(view).__name__} names no scope for {action!r}.")
        if bearer_of(request).scopes.isdisjoint(required):
            raise Refused(
                Problem("insufficient_scope", f"The token must carry {' or '.join(required)}."),
                headers={
                    # Cart.Write opens every operation.
                    "WWW-Authenticate": f'{REALM}, error="insufficient_scope", scope="Cart.Write"'
                },
            )
        return True


class HasValidPath(BasePermission):
    """Every key in the path is a GUID."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        problems = [
            Problem("invalid_guid", f"{PATH_NAMES[name]} must be a GUID.", PATH_NAMES[name])
            for name, value in view.kwargs.items()
            if not isinstance(value, UUID)
        ]
        if problems:
            raise Refused(*problems)
        return True


class OwnsProfile(BasePermission):
    """A token bound to a customer opens that customer's carts only."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        bearer = bearer_of(request)
        if bearer.profile_key is None and not settings.JWT_REQUIRE_PROFILE:
            return True
        if bearer.profile_key != view.kwargs["profile_key"]:
            refuse(
                "profile_mismatch", "The token does not open this profile's carts.", "profileKey"
            )
        return True
