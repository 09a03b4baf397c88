"""Scope and identity checks, in the order in which a request must pass them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from rest_framework.permissions import BasePermission

from cartsvc.api.operation import operation_of
from cartsvc.camel_case import camel_case
from cartsvc.errors import InsufficientScope, InvalidGuid, ProfileMismatch, Refusals
from cartsvc.identity.bearer_tokens import REALM, bearer_of

if TYPE_CHECKING:  # a circular import: the framework's views import their permission classes
    from rest_framework.request import Request
    from rest_framework.views import APIView


class HasScope(BasePermission):
    """Requires one of the operation's scopes in the token (specification: Authentication)."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        action = getattr(view, "action", None)
        # The path does not have this method. The framework calls OPTIONS "metadata".
        if action in {None, "metadata"}:
            return True
        operation = operation_of(view, action)
        if operation is None:
            raise ImproperlyConfigured(f"{type(view).__name__} declares no operation: {action}.")
        if bearer_of(request).scopes.isdisjoint(operation.scopes):
            challenge = f'{REALM}, error="insufficient_scope", scope="{operation.scope}"'
            raise InsufficientScope(
                scopes=" or ".join(operation.scopes), headers={"WWW-Authenticate": challenge}
            )
        return True


class HasValidPath(BasePermission):
    """Requires every key in the path to be a GUID."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        wrong = [
            camel_case(name) for name, value in view.kwargs.items() if not isinstance(value, UUID)
        ]
        if wrong:
            raise Refusals([InvalidGuid(name=name, field=name) for name in wrong])
        return True


class OwnsProfile(BasePermission):
    """Requires the path's profile to be the token's, if the token is bound to a profile."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        bearer = bearer_of(request)
        if bearer.profile_key is None and not settings.JWT_REQUIRE_PROFILE:
            return True
        if bearer.profile_key != view.kwargs["profile_key"]:
            raise ProfileMismatch(field="profileKey")
        return True
