"""The keys of another issuer, fetched from its JWKS address."""

import time
from typing import Any

from jwt import PyJWK, PyJWKClient, PyJWKClientConnectionError, PyJWKSet, PyJWTError

# Long enough for a healthy issuer, short enough to answer within four seconds.
TIMEOUT_SECONDS = 2
# How soon the issuer is asked again, for a key id that is unknown or after it failed.
COOLDOWN_SECONDS = 5


class IssuerKeys(PyJWKClient):
    """PyJWT's client, which asks one at a time, kept from being a bottleneck.

    A token whose key is known does not wait while another's is looked for, and when the
    issuer does not answer, one request in `COOLDOWN_SECONDS` finds that out for all.
    """

    failed_at = float("-inf")

    def __init__(self, uri: str) -> None:
        super().__init__(uri, timeout=TIMEOUT_SECONDS, cooldown_duration=COOLDOWN_SECONDS)

    def get_signing_key(self, kid: str) -> PyJWK:
        known = self.jwk_set_cache.get() if self.jwk_set_cache else None
        if isinstance(known, PyJWKSet):
            key = self.match_kid(self._get_signing_keys_from_jwk_set(known), kid)
            if key:
                return key
        return super().get_signing_key(kid)

    def fetch_data(self) -> Any:
        """Fetch the keys.

        Raises:
            PyJWKClientConnectionError: the issuer cannot be reached, or what it answers
                holds no keys.
        """
        if time.monotonic() - self.failed_at < COOLDOWN_SECONDS:
            raise PyJWKClientConnectionError("The issuer did not answer a moment ago.")
        try:
            return super().fetch_data()
        except (PyJWTError, OSError, ValueError) as error:
            self.failed_at = time.monotonic()
            raise PyJWKClientConnectionError("The issuer's keys cannot be fetched.") from error
