"""Settings, read from the environment. The table in cartsvc/README.md explains each name."""

from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from environs import EnvValidationError, FileAwareEnv, validate

from cartsvc.db.database_url import SQLITE, connection_settings
from cartsvc.environment_variables import (
    LOOPBACK,
    between,
    browser_origin,
    company_page,
    generated_secret,
    host_and_port,
    host_name,
    is_network,
    is_random,
    keys_url,
    usable_cores,
    validate_each,
)
from cartsvc.serving import logs

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = BASE_DIR / "var"
EMBEDDED_URL = f"sqlite:///{VAR_DIR / 'carts.sqlite3'}"

# Environment

# A value may also stand in a file, whose path is in the variable with _FILE after its name.
env = FileAwareEnv(eager=False, strip_whitespace=True)  # `seal` names all that is wrong at once

DATABASE_URL = env.str("DATABASE_URL", "")
DATABASE_ADMIN_URL = env.str("DATABASE_ADMIN_URL", "")

SECRET_KEY = env.str("SECRET_KEY", "", validate=is_random)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", LOOPBACK, str.strip, validate=validate_each(host_name))
IS_PUBLIC = not set(ALLOWED_HOSTS or LOOPBACK) <= set(LOOPBACK)
HTTPS_ONLY = env.bool("HTTPS_ONLY", IS_PUBLIC)
CORS_ALLOWED_ORIGINS: list[str] = env.list(
    "CORS_ALLOWED_ORIGINS", [], str.strip, validate=validate_each(browser_origin)
)

JWT_ALGORITHM = env.str(
    "JWT_ALGORITHM", "HS256", validate=validate.OneOf(["HS256", "RS256", "ES256"])
)
JWT_SIGNING_KEY = env.str("JWT_SIGNING_KEY", "", validate=is_random)
JWT_VERIFYING_KEY = env.str("JWT_VERIFYING_KEY", "").replace("\\n", "\n")
JWT_JWK_URL = env.str("JWT_JWK_URL", "", validate=keys_url)
JWT_ISSUER = env.str("JWT_ISSUER", "")
JWT_AUDIENCE = env.str("JWT_AUDIENCE", "")
JWT_REQUIRE_PROFILE = env.bool("JWT_REQUIRE_PROFILE", IS_PUBLIC)

MAX_BODY_BYTES = env.int("MAX_BODY_BYTES", 256 * 1024, **between(1024, 16 * 1024 * 1024))
MAX_ITEMS = env.int("MAX_ITEMS", 200, **between(1, 10_000))
MAX_OPTIONS = env.int("MAX_OPTIONS", 100, **between(1, 10_000))
MAX_CART_OPTIONS = env.int("MAX_CART_OPTIONS", 1000, **between(1, 100_000))
# How long carts are kept; 0: for ever.
CART_DAYS = env.int("CART_DAYS", 0, **between(0, 36_500))
ORDERED_CART_DAYS = env.int("ORDERED_CART_DAYS", CART_DAYS or 0, **between(0, 36_500))

BIND = env.str("BIND", "127.0.0.1:8000")
WEB_CONCURRENCY = env.int("WEB_CONCURRENCY", max(2, usable_cores()), **between(1, 1000))
THREADS = env.int("THREADS", 4, **between(1, 1000))
FORWARDED_ALLOW_IPS = env.list(
    "FORWARDED_ALLOW_IPS", ["127.0.0.1", "::1"], str.strip, validate=validate_each(is_network)
)
# Pages of the company's own, to which the desk links.
RESTAURANT_URL = env.str("RESTAURANT_URL", "", validate=company_page)
CUSTOMER_URL = env.str("CUSTOMER_URL", "", validate=company_page)
METRICS_BIND = env.str("METRICS_BIND", "", validate=host_and_port)

try:
    env.seal()
except EnvValidationError as error:
    raise ImproperlyConfigured(str(error)) from None
VARIABLES = env.dump().keys()

# Commands bypass a pooler. What serves requests uses the second (`connect_for_requests`).
DATABASE = connection_settings(DATABASE_ADMIN_URL or DATABASE_URL or EMBEDDED_URL)
DATABASE_OF_REQUESTS = connection_settings(
    DATABASE_URL or EMBEDDED_URL, for_requests=True, pooled=bool(DATABASE_ADMIN_URL)
)
# A public service without DATABASE_URL is refused, and so it makes no files.
EMBEDDED = DATABASE["ENGINE"] == SQLITE and (bool(DATABASE_URL) or not IS_PUBLIC)
JWT_KEY_GENERATED = EMBEDDED and JWT_ALGORITHM == "HS256" and not JWT_SIGNING_KEY

# Secrets that are still empty after this are refused, by Django and by `cartsvc.checks`.
if EMBEDDED:
    VAR_DIR.mkdir(mode=0o700, exist_ok=True)
    SECRET_KEY = SECRET_KEY or generated_secret(VAR_DIR / "secret_key")
if JWT_KEY_GENERATED:
    JWT_SIGNING_KEY = generated_secret(VAR_DIR / "jwt_signing_key")

# Application

INSTALLED_APPS = [
    "cartsvc",
    "carts",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "carts.apps.DeskConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "corsheaders",
    "csp",
]

MIDDLEWARE = [
    "cartsvc.proxies.trust_proxies",
    # API requests pass through this middleware only. The others are for pages.
    "cartsvc.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "cartsvc.page_middleware.viewer_time_zone",
    "cartsvc.page_middleware.page_limit",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "cartsvc.urls"
API_URLCONF = "carts.urls"  # the part in which the path of an API request is looked up
WSGI_APPLICATION = "cartsvc.wsgi.application"

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
    "cartsvc.identity.sign_in.Argon2",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",  # of other installations
]
LOGIN_REDIRECT_URL = "admin:index"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "cartsvc.identity.sign_in.NewPasswordValidator"},
]

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "cartsvc.formats"

# The form of an item has five fields for each option, room for a sixth, and some of its own.
DATA_UPLOAD_MAX_NUMBER_FIELDS = max(1000, 6 * MAX_OPTIONS + 100)

STATIC_URL = "static/"
# Serve static files from the packages, so that nobody can forget collectstatic.
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Database

if EMBEDDED:
    DATABASE["TEST"] = {"NAME": VAR_DIR / "test.sqlite3"}
# What serves requests changes it: see DATABASE_OF_REQUESTS.
DATABASES = {"default": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True, **DATABASE}}

# Security

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
# Browsers remember it for a week. Who wants it longer sends it from the proxy.
SECURE_HSTS_SECONDS = 7 * 24 * 60 * 60 if HTTPS_ONLY else 0
SILENCED_SYSTEM_CHECKS = [
    # Other names of the domain are not ours to bind, and a preloaded one cannot be taken back.
    "security.W005",
    "security.W021",
]

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
AXES_USERNAME_CALLABLE = "cartsvc.identity.sign_in.attempted_name"
AXES_CLIENT_IP_CALLABLE = "cartsvc.proxies.client_network"
AXES_LOCKOUT_TEMPLATE = "429.html"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
# Otherwise an attacker who keeps guessing would lock a member of staff out for as long.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
# A failed attempt is recorded without these. `next` may hold a customer's key.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "next"]
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# API

JWT_LEEWAY = 30  # seconds. Clocks that differ by more are wrong and must be corrected.
ANY_PROFILE_SCOPE = "Cart.AnyProfile"
# `issue_token` gives these only when they are asked for.
SCOPES_ON_REQUEST = {ANY_PROFILE_SCOPE, "Cart.Close"}

REST_FRAMEWORK = {
    # Operations have checks of their own (`OperationView`). These open no other view to anybody.
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "cartsvc.api.exception_handler.handle",
}

# Pages of CORS_ALLOWED_ORIGINS may send and read these; cookies are of no use to the API.
CORS_ALLOW_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
CORS_ALLOW_HEADERS = [
    *("Authorization", "Content-Type", "If-Match", "If-None-Match"),
    *("Idempotency-Key", "Prefer", "X-Request-ID", "traceparent", "tracestate", "baggage"),
]
CORS_EXPOSE_HEADERS = [
    *("ETag", "X-Request-ID", "Retry-After", "Idempotent-Replayed", "Preference-Applied"),
]

SPECTACULAR_SETTINGS = {"DEFAULT_GENERATOR_CLASS": "carts.openapi.document.DocumentGenerator"}

# Operations

LOGGING = logs.LOGGING
# A single instance, on SQLite, has nobody to hand its callers to.
DRAIN_SECONDS = 0 if DATABASE["ENGINE"] == SQLITE else 5
