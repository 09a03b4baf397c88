"""Whose carts a token opens, as its claims `profileKey` and `partnerKey` say."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.conf import settings

from carts.cart_errors import ProfileMismatch
from cartsvc.guids import parse_guid
from cartsvc.identity.bearer_tokens import Bearer, Claims, InvalidClaim, text_claim


@dataclass(frozen=True, slots=True)
class CartBearer(Bearer):
    """A token that is bound to no customer or to no partner is a trusted back end's."""

    profile_key: UUID | None
    partner_key: str | None

    @property
    def keys(self) -> dict[str, object]:
        """The keys that the token's carts have, by the names of model fields."""
        keys = {"profile_key": self.profile_key, "partner_key": self.partner_key}
        return {name: key for name, key in keys.items() if key is not None}

    @classmethod
    def of_claims(cls, claims: Claims) -> Self:
        bearer = Bearer.of_claims(claims)
        profile_key = parse_guid(claims["profileKey"]) if "profileKey" in claims else None
        # Treating an unreadable binding as no binding would open every profile.
        if "profileKey" in claims and profile_key is None:
            raise InvalidClaim("The claim profileKey is no GUID.")
        partner_key = text_claim(claims, "partnerKey") if "partnerKey" in claims else None
        return cls(bearer.sub, bearer.scopes, profile_key, partner_key)

    def check_profile(self, profile_key: UUID | None) -> None:
        """Raise `profile_mismatch` if the token does not open the customer, if there is one."""
        if self.profile_key is not None:
            if profile_key not in (None, self.profile_key):
                raise ProfileMismatch(field="profileKey")
        # An issuer may have dropped the claim without a word.
        elif settings.JWT_REQUIRE_PROFILE and settings.ANY_PROFILE_SCOPE not in self.scopes:
            scope = settings.ANY_PROFILE_SCOPE
            text = f"The token has neither a profileKey claim nor the scope {scope}."
            raise ProfileMismatch(text, field="profileKey")
