"""Request headers: entity tags (RFC 9110) and preferences (RFC 7240)."""

import re
from urllib.request import parse_http_list

from cartsvc.request_errors import InvalidHeader

# RFC 9110, section 8.8.3. Weak tags are accepted, and a coding after the version, such as
# `"1-gzip"`: compressing proxies make these of strong tags, and a version names one state.
TAG = r'(?:W/)?"[\x21\x23-\x7e]*"'
VERSION_TAG = re.compile(r'(?:W/)?"([1-9][0-9]{0,18})(?:(?:--?|;)[a-zA-Z]+)?"')
# A list may have empty elements (section 5.6.1.2).
TAGS = re.compile(rf"[ \t,]*{TAG}(?:[ \t]*,[ \t,]*{TAG})*[ \t,]*")

# Bytes of a list of tags, and of preferences. More is milliseconds of work, and nobody needs it.
TAGS_MAX_LENGTH = PREFERENCES_MAX_LENGTH = 1000

# RFC 7240, section 2. The value may be quoted, and parameters may follow it.
PREFERENCE = re.compile(
    r'(handling|return)\s*+(?:=\s*+("[^"]*+"|[^\s;]*+)\s*+)?(?:;.*+)?', re.IGNORECASE | re.DOTALL
)


def versions(header: str, name: str) -> frozenset[int] | None:
    """Return the versions in If-Match or If-None-Match, or refuse it; None for `*`: any version.

    Tags of other services are ignored.
    """
    if header.strip() == "*":
        return None
    if len(header) > TAGS_MAX_LENGTH or not TAGS.fullmatch(header.strip()):
        raise InvalidHeader(
            f'{name} must be a version in quotes, such as "3", or a list of these.', field=name
        )
    return frozenset(int(version) for version in VERSION_TAG.findall(header))


def preferences(header: str) -> dict[str, str]:
    """Return what Prefer (RFC 7240) says of `handling` and `return`; the first mention counts.

    A list that is too long is ignored, which RFC 7240 allows.
    """
    found: dict[str, str] = {}
    if len(header) <= PREFERENCES_MAX_LENGTH:
        for preference in parse_http_list(header):
            if one := PREFERENCE.fullmatch(preference):
                found.setdefault(one[1].lower(), (one[2] or "").strip('"').lower())
    return found
