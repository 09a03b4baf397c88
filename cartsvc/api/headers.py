"""Request headers: media types, cookies, entity tags, preferences."""

import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.request import parse_http_list

from django.utils.http import parse_header_parameters

from cartsvc.request_errors import InvalidHeader

# Bytes of a Content-Type. Reading its parameters takes quadratic time.
CONTENT_TYPE_MAX_LENGTH = 200

# RFC 9110, section 8.8.3. Weak tags are accepted, and a coding after the version, such as
# `"1-gzip"`: compressing proxies make these of strong tags, and a version names one state.
ENTITY_TAG = r'(?:W/)?"[\x21\x23-\x7e]*"'
VERSION_TAG = re.compile(r'(?:W/)?"([1-9][0-9]{0,18})(?:(?:--?|;)[a-zA-Z]+)?"')
# A list may have empty elements (section 5.6.1.2).
TAGS = re.compile(rf"[ \t,]*{ENTITY_TAG}(?:[ \t]*,[ \t,]*{ENTITY_TAG})*[ \t,]*")

# Bytes of a list of tags, and of preferences. More is milliseconds of work, and nobody needs it.
TAGS_MAX_LENGTH = PREFERENCES_MAX_LENGTH = 1000

# RFC 7240, section 2. The value may be quoted, and parameters may follow it.
PREFERENCE = re.compile(
    r'(handling|return)\s*+(?:=\s*+("[^"]*+"|[^\s;]*+)\s*+)?(?:;.*+)?', re.IGNORECASE | re.DOTALL
)


class PlainHeaders:
    """A WSGI application, without what Django would read too kindly before any middleware runs.

    It would look for a charset's name on disk, decode the query with it, and fail with no envelope.
    """

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if not environ["REQUEST_METHOD"].isupper():
            environ["REQUEST_METHOD"] = "-"  # Django would take `get` for GET
        environ["CONTENT_TYPE"] = media_type(environ.get("CONTENT_TYPE", ""))
        if "\\" in environ.get("HTTP_COOKIE", ""):
            environ["HTTP_COOKIE"] = plain_cookies(environ["HTTP_COOKIE"])
        return self.application(environ, start_response)


def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type, in lower case and without parameters.

    It is empty for what nothing here takes: another charset, a multipart form, nonsense.
    """
    if len(content_type) > CONTENT_TYPE_MAX_LENGTH:
        return ""
    try:
        found, parameters = parse_header_parameters(content_type)
    except (ValueError, TypeError):
        return ""
    charset = parameters.get("charset", "utf-8").lower()
    if charset not in {"utf-8", "utf8"} or found.startswith("multipart/"):
        return ""
    return found


def plain_cookies(cookies: str) -> str:
    """Return the cookies of a Cookie header without escapes: ours have none.

    Before 3.11.10, Python takes quadratic time to unescape a value.
    """
    return ";".join(cookie for cookie in cookies.split(";") if "\\" not in cookie)


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
