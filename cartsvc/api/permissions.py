"""What a bearer may do: scope and identity, in the order in which they are checked."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls.converters import StringConverter
from rest_framework.permissions import BasePermission

from cartsvc.identity.bearer_tokens import REALM
from cartsvc.request_errors import ApiErrors, InsufficientScope, InvalidGuid, ProfileMismatch
from cartsvc.text import camel_case, parse_guid


class GuidConverter(StringConverter):
    """Takes any part of a path. `HasScopeAndProfile` refuses what is no GUID, in its turn."""

    def to_python(self, value: str) -> Any:
        return parse_guid(value) or value


class HasScopeAndProfile(BasePermission):
    """Requires a scope of the operation, GUIDs in the path, and the token's own profile there."""

    # The framework's own types would be imported in a circle.
    def has_permission(self, request: Any, view: Any) -> bool:
        bearer, operation = request.user, view.operation
        if view.action:  # else the path does not have this method
            if operation is None:
                view_name = type(view).__name__
                raise ImproperlyConfigured(f"{view_name} declares no operation: {view.action}.")
            if bearer.scopes.isdisjoint(operation.scopes):
                challenge = f'{REALM}, error="insufficient_scope", scope="{operation.scopes[-1]}"'
                raise InsufficientScope(
                    scopes=" or ".join(operation.scopes), headers={"WWW-Authenticate": challenge}
                )
        keys = view.kwargs.items()
        if wrong := [camel_case(name) for name, value in keys if not isinstance(value, UUID)]:
            raise ApiErrors([InvalidGuid(name=name, field=name) for name in wrong])
        if bearer.profile_key is None:
            # An issuer may have dropped the claim without a word.
            scope = settings.ANY_PROFILE_SCOPE
            if settings.JWT_REQUIRE_PROFILE and scope not in bearer.scopes:
                text = f"The token has neither a profileKey claim nor the scope {scope}."
                raise ProfileMismatch(text, field="profileKey")
        elif bearer.profile_key != view.kwargs["profile_key"]:
            raise ProfileMismatch(field="profileKey")
        return True
