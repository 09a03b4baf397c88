"""Settings, read from the environment. The table in cartsvc/README.md explains each name.

With nothing set, the service uses the embedded default: SQLite and generated secrets under
var/, listening on loopback. `cartsvc.checks` refuses an incomplete production configuration.
"""

import os
import secrets
import socket
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import Env, validate

from cartsvc.db.database_url import database_at

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


def var_folder() -> Path:
    """Return the folder of the embedded default. It is made on first use, with mode 0700.

    Raises:
        ImproperlyConfigured: it cannot be made.
    """
    try:
        VAR_DIR.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{VAR_DIR} cannot be made ({error.strerror}). Set DATABASE_URL, SECRET_KEY and "
            "JWT_SIGNING_KEY, or make the folder writable."
        ) from error
    return VAR_DIR


def generated(name: str) -> str:
    """Return a secret from var/. It is created on first use, with mode 0600.

    Raises:
        ImproperlyConfigured: the file cannot be written or read.
    """
    path = var_folder() / name
    try:
        draft = VAR_DIR / f".{name}.{secrets.token_hex(4)}"
        if not path.exists():
            with os.fdopen(
                os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(secrets.token_urlsafe(64))
            with suppress(FileExistsError):  # another process has made it first
                os.link(draft, path)
            draft.unlink()
        return path.read_text()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be made ({error.strerror}). Set SECRET_KEY and JWT_SIGNING_KEY, "
            "or make the folder writable."
        ) from error


env = Env()
try:
    DEBUG = env.bool("DEBUG", False)
    ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", LOOPBACK, subcast=str.strip)
    HTTPS_ONLY = env.bool("HTTPS_ONLY", not set(ALLOWED_HOSTS) <= set(LOOPBACK))
    DATABASE_URL = env.str("DATABASE_URL", f"sqlite:///{VAR_DIR / 'carts.sqlite3'}")
    # manage.py puts it in the place of DATABASE_URL for the commands that serve no requests.
    DATABASE_ADMIN_URL = env.str("DATABASE_ADMIN_URL", "")
    DB_POOLER = env.bool("DB_POOLER", False)
    # Seconds; 0 means no limit.
    DB_CONNECT_TIMEOUT = env.int("DB_CONNECT_TIMEOUT", 3)
    DB_LOCK_TIMEOUT = env.float("DB_LOCK_TIMEOUT", 2.0)
    DB_STATEMENT_TIMEOUT = env.float("DB_STATEMENT_TIMEOUT", 3.0)
    DB_IDLE_TIMEOUT = env.float("DB_IDLE_TIMEOUT", 10.0)
    DB_PREPARE_THRESHOLD = env.int("DB_PREPARE_THRESHOLD", 5)

    SECRET_KEY = env.str("SECRET_KEY", "")
    JWT_ALGORITHM = env.str("JWT_ALGORITHM", "HS256")
    JWT_SIGNING_KEY = env.str("JWT_SIGNING_KEY", "").replace("\\n", "\n")
    JWT_VERIFYING_KEY = env.str("JWT_VERIFYING_KEY", "").replace("\\n", "\n")
    JWT_JWK_URL = env.str("JWT_JWK_URL", "")
    JWT_ISSUER = env.str("JWT_ISSUER", "")
    JWT_AUDIENCE = env.str("JWT_AUDIENCE", "")
    JWT_LEEWAY = env.int("JWT_LEEWAY", 30)
    JWT_REQUIRE_PROFILE = env.bool("JWT_REQUIRE_PROFILE", False)

    MAX_BODY_BYTES = env.int("MAX_BODY_BYTES", 1024 * 1024)
    MAX_ITEMS = env.int("MAX_ITEMS", 500)
    MAX_OPTIONS = env.int("MAX_OPTIONS", 100)
    MAX_CART_OPTIONS = env.int("MAX_CART_OPTIONS", 5000)
    IDEMPOTENCY_HOURS = env.int("IDEMPOTENCY_HOURS", 24)

    CORS_ALLOWED_ORIGINS: list[str] = env.list("CORS_ALLOWED_ORIGINS", [])

    BIND = env.str("BIND", "127.0.0.1:8000")
    WEB_CONCURRENCY = env.int("WEB_CONCURRENCY", max(2, os.cpu_count() or 1))
    THREADS = env.int("THREADS", 4)
    DRAIN_SECONDS = env.float("DRAIN_SECONDS", 0 if DATABASE_URL.startswith("sqlite:") else 5)
    THROTTLE_RATE = env.str("THROTTLE_RATE", "")
    CACHE_URL = env.str("CACHE_URL", "locmem://")
    FORWARDED_ALLOW_IPS = env.list("FORWARDED_ALLOW_IPS", ["127.0.0.1", "::1"], subcast=str.strip)
    METRICS_BIND = env.str("METRICS_BIND", "")
    INSTANCE_NAME = env.str("INSTANCE_NAME", "") or socket.gethostname()
    LOG_FORMAT = env.str(
        "LOG_FORMAT",
        "text" if DEBUG or sys.stdout.isatty() else "json",
        validate=validate.OneOf(["json", "text"]),
    )
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error

try:
    DATABASE = database_at(DATABASE_URL)
except ValueError as error:
    raise ImproperlyConfigured(
        f"DATABASE_URL, or the DATABASE_ADMIN_URL of commands: {error}"
    ) from None
EMBEDDED = DATABASE["ENGINE"] == "cartsvc.db.sqlite"
if Path(DATABASE["NAME"]).parent == VAR_DIR:
    var_folder()

JWT_KEY_GENERATED = EMBEDDED and JWT_ALGORITHM == "HS256" and not JWT_SIGNING_KEY

# cartsvc.checks refuses the secrets that are still empty after this, and says what to set.
if EMBEDDED:
    SECRET_KEY = SECRET_KEY or generated("secret_key")
    if JWT_KEY_GENERATED:
        JWT_SIGNING_KEY = generated("jwt_signing_key")
SECRET_KEY_IS_SET = bool(SECRET_KEY)
SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(64)

# Application

INSTALLED_APPS = [
    "cartsvc",
    "carts",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "csp",
]

MIDDLEWARE = [
    # API requests pass through this middleware only. The others are for pages.
    "cartsvc.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "cartsvc.pages.NoStore",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "cartsvc.pages.ViewerTimeZone",
    "cartsvc.pages.PageQueue",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "cartsvc.urls"
WSGI_APPLICATION = "cartsvc.wsgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = [
    "cartsvc.sign_in.Argon2",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # of other installations
]
# Where a sign-in leads whose `next` is refused.
LOGIN_REDIRECT_URL = "admin:index"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"

# The form of an item has five fields for each option, and a few more.
DATA_UPLOAD_MAX_NUMBER_FIELDS = max(1000, 6 * MAX_OPTIONS + 100)

STATIC_URL = "static/"
# Serve static files from the packages, so that nobody can forget collectstatic.
WHITENOISE_USE_FINDERS = True
# They are for our own pages.
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Database

# How every session on PostgreSQL is to be set. Timeouts are in milliseconds. A pooler takes no such
# settings from its callers, so they stand with the role: cartsvc.checks compares them.
DB_SESSION = {
    # JIT compilation takes longer than any of our queries. PostgreSQL would still choose it while
    # a table has no statistics.
    "jit": "off",
    "lock_timeout": f"{DB_LOCK_TIMEOUT * 1000:.0f}",
    "statement_timeout": f"{DB_STATEMENT_TIMEOUT * 1000:.0f}",
    "idle_in_transaction_session_timeout": f"{DB_IDLE_TIMEOUT * 1000:.0f}",
}

if EMBEDDED:
    DATABASE["OPTIONS"] = {
        # SQLite cannot wait for the lock in a deferred transaction that reads before it writes.
        "transaction_mode": "IMMEDIATE",
        "timeout": DB_LOCK_TIMEOUT,
        "statement_timeout": DB_STATEMENT_TIMEOUT,
        "init_command": "PRAGMA journal_mode=WAL",
    }
    DATABASE["TEST"] = {"NAME": VAR_DIR / "test.sqlite3"}
else:
    DATABASE["OPTIONS"] |= {
        # Each host's share of the time. 0 is no limit.
        "connect_timeout": DB_CONNECT_TIMEOUT
        and max(1, DB_CONNECT_TIMEOUT // len(DATABASE["HOST"].split(","))),
        "tcp_user_timeout": DB_CONNECT_TIMEOUT * 1000,
        # All statements of a request together, COMMIT included; the driver's own clock.
        "request_timeout": DB_STATEMENT_TIMEOUT and DB_STATEMENT_TIMEOUT + 1,
        "application_name": "cartsvc",
        # A frequent statement is then planned once per connection, not once per request.
        "server_side_binding": True,
        "prepare_threshold": None if DB_POOLER else DB_PREPARE_THRESHOLD or None,
    }
    if not DB_POOLER:
        # After those of DATABASE_URL, so that ours count.
        DATABASE["OPTIONS"]["options"] = " ".join(
            [
                DATABASE["OPTIONS"].get("options", ""),
                *(f"-c {name}={setting}" for name, setting in DB_SESSION.items()),
            ]
        ).strip()
DATABASES = {
    "default": {
        **DATABASE,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": DB_POOLER,
    }
}

CACHE: dict[str, Any]
match CACHE_URL.partition("://")[0]:
    case "locmem":
        CACHE = {
            "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
            # Else an attacker with 300 networks would push out the counts of his own attempts.
            "OPTIONS": {"MAX_ENTRIES": 20_000},
        }
    case "redis" | "rediss":
        CACHE = {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": CACHE_URL,
            # Seconds. Every request asks the cache, so none may wait for it for long.
            "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
        }
    case _:
        raise ImproperlyConfigured("CACHE_URL must begin with redis://, rediss:// or locmem://.")
CACHES = {"default": CACHE}

# Security

if HTTPS_ONLY:
    # The server sets the scheme. It believes X-Forwarded-Proto from FORWARDED_ALLOW_IPS only.
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# Pages: the admin and the docs. The API has no sessions.
SESSION_COOKIE_AGE = 8 * 60 * 60
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
CSRF_COOKIE_HTTPONLY = True
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# Strangers elsewhere cannot lock a member of staff out. nginx bounds what each of them may try.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "cartsvc.sign_in.attempted_name"
AXES_CLIENT_IP_CALLABLE = "cartsvc.sign_in.recorded_address"
AXES_LOCKOUT_CALLABLE = "cartsvc.sign_in.locked_out"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
# Otherwise an attacker who keeps guessing would lock a member of staff out for as long.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["cartsvc.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [
        "cartsvc.api.permissions.HasScope",
        "cartsvc.api.permissions.HasValidPath",
        "cartsvc.api.permissions.OwnsProfile",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "cartsvc.api.envelope.NoNegotiation",
    "DEFAULT_THROTTLE_CLASSES": ["cartsvc.api.throttling.BearerThrottle"] if THROTTLE_RATE else [],
    "EXCEPTION_HANDLER": "cartsvc.api.exception_handler.handle",
    "UNAUTHENTICATED_USER": None,
}

# Pages of CORS_ALLOWED_ORIGINS may send and read these; cookies are of no use to the API.
CORS_ALLOW_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"]
CORS_ALLOW_HEADERS = [
    "Authorization",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "Idempotency-Key",
    "Prefer",
    "X-Request-ID",
]
CORS_EXPOSE_HEADERS = [
    "ETag",
    "X-Request-ID",
    "Retry-After",
    "Idempotent-Replayed",
    "Preference-Applied",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
]

SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "tryItOutEnabled": True},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

SIMPLE_JWT = {
    # cartsvc.api.authentication sets keys and algorithm. The default here would be SECRET_KEY.
    "SIGNING_KEY": "",
    # Other issuers' tokens have neither claim.
    "TOKEN_TYPE_CLAIM": None,
    "JTI_CLAIM": None,
}

# Operations

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {"()": "cartsvc.operations.logs.LineFormatter"},
        "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
    },
    "filters": {
        "request_ids": {"()": "cartsvc.operations.logs.RequestIds"},
        "pages": {"()": "cartsvc.operations.logs.Pages"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "stream": "ext://sys.stdout",
            "formatter": LOG_FORMAT,
            "filters": ["request_ids"],
        }
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "django.server": {"propagate": True},
        "django.request": {"filters": ["pages"]},
    },
}
