"""Request headers that several operations share: entity tags and preferences."""

import re
from urllib.request import parse_http_list

from cartsvc.api.problems import INVALID_HEADER

# RFC 9110, section 8.8.3. Weak tags are accepted: compressing proxies make them of strong
# ones, and a version names one state.
ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]*"')
VERSION_TAG = re.compile(r'(?:W/)?"([1-9][0-9]{0,18})"')


def entity_tag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def versions(header: str, name: str) -> frozenset[int] | None:
    """Return the versions in If-Match or If-None-Match; None for `*`, which is any version.

    Tags of other services are ignored.

    Raises:
        Refused: `invalid_header`.
    """
    if header.strip() == "*":
        return None
    tags = [tag.strip() for tag in header.split(",")]
    if not all(ENTITY_TAG.fullmatch(tag) for tag in tags):
        INVALID_HEADER.refuse(
            f'{name} must be a version in quotes, such as "3", or a list of these.', field=name
        )
    return frozenset(int(found[1]) for tag in tags if (found := VERSION_TAG.fullmatch(tag)))


def prefers_strict(header: str) -> bool:
    """Return whether Prefer asks for `handling=strict` (RFC 7240); its first mention counts."""
    for preference in parse_http_list(header):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "handling":
            return value.strip().strip('"').lower() == "strict"
    return False
