"""One-line sabotages of the code, each of which the tests must catch.

python -m tests.mutation            all of them, each in a copy of the tree
python -m tests.mutation guard      those whose name contains the word
python -m tests.mutation --pins     only check that every line to sabotage still exists
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from tests.support.clusters import private_cluster

ROOT = Path(__file__).resolve().parents[2]
TREE = ("cartsvc", "carts", "tests", "manage.py", "pytest.ini", "requirements.txt")


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    tests: str
    # Only a server's locks and snapshots show it: its tests run on a private PostgreSQL.
    postgresql: bool = False


CARTS = "carts/models/manager.py"
IDEMPOTENCY = "carts/models/idempotency.py"
VIEWS = "carts/views.py"
VALIDATORS = "carts/validators.py"
PARSERS = "cartsvc/api/strict_json.py"
AUTHENTICATION = "cartsvc/api/authentication.py"
PERMISSIONS = "cartsvc/api/permissions.py"
TOTALS = "carts/models/totals.py"
KEYS = "cartsvc/api/jwks.py"
SIGN_IN = "cartsvc/sign_in.py"
PAGES = "cartsvc/pages.py"
SLIPS = "carts/admin/slips.py"
HISTORY = "carts/models/history.py"

MUTANTS = [
    Mutant(
        "any version will do",
        CARTS,
        '            expected["version"] = version\n',
        "            pass\n",
        "tests/api/test_if_match.py",
    ),
    Mutant(
        "a Content-Type of any length",
        "cartsvc/api/headers.py",
        "    if len(content_type) > CONTENT_TYPE_MAX_LENGTH:\n",
        "    if False:\n",
        "tests/service/test_wsgi.py -k nothing_takes",
    ),
    Mutant(
        "Django reads the charset",
        "cartsvc/wsgi.py",
        'media_type(environ.get("CONTENT_TYPE", ""))',
        'environ.get("CONTENT_TYPE", "")',
        "tests/service/test_wsgi.py -k charset",
    ),
    Mutant(
        "cookies with escapes",
        "cartsvc/wsgi.py",
        'plain_cookies(environ["HTTP_COOKIE"])',
        'environ["HTTP_COOKIE"]',
        "tests/service/test_wsgi.py -k escapes",
    ),
    Mutant(
        "a body too deep to write",
        PARSERS,
        "    except RecursionError:\n        _malformed(TOO_DEEP)\n    return hashlib",
        "    except ZeroDivisionError:\n        _malformed(TOO_DEEP)\n    return hashlib",
        "tests/api/test_strict_json.py -k too_deep",
    ),
    Mutant(
        "a list of versions of any length",
        "cartsvc/api/headers.py",
        "    if len(header) > TAGS_MAX_LENGTH:\n",
        "    if False:\n",
        "tests/api/test_if_match.py tests/api/test_conditional_reads.py",
    ),
    Mutant(
        "items of any currency",
        CARTS,
        '            expected["currency"] = draft.values["currency"]\n',
        "            pass\n",
        "tests/api/test_currency.py",
    ),
    Mutant(
        "carts of mixed currencies",
        CARTS,
        "            raise Refused(*mismatches)\n        sums",
        "            pass\n        sums",
        "tests/api/test_currency.py",
    ),
    Mutant(
        "Add Item claims nothing",
        CARTS,
        'changed = self.claim(cart_id, "Add Item", version=version, draft=draft)',
        "changed = 2",
        "tests/api/test_add_item.py tests/api/test_if_match.py",
    ),
    Mutant(
        "old options stay",
        CARTS,
        "            remove_options().run(item_id=item_id)\n",
        "",
        "tests/api/test_update_item.py",
    ),
    Mutant(
        "new options are lost",
        CARTS,
        "            INSERT_OPTIONS.run(draft.option_rows())\n",
        "",
        "tests/api/test_update_item.py",
    ),
    Mutant(
        "an item of another cart",
        "carts/models/totals.py",
        'Exists(_item_taken().filter(cart=OuterRef("pk")))',
        "Exists(_item_taken())",
        "tests/api/test_ownership.py",
    ),
    Mutant(
        "two currencies in one item",
        CARTS,
        "            if draft.has_two_currencies():\n",
        "            if False:\n",
        "tests/api/test_currency.py",
    ),
    Mutant(
        "one item too many",
        TOTALS,
        'LessThan(items, Parameter("most_items"',
        'LessThanOrEqual(items, Parameter("most_items"',
        "tests/api/test_add_item.py tests/api/test_number_limits.py",
    ),
    Mutant(
        "a replacement in pieces",
        CARTS,
        "        with atomic():\n            changed = self.claim(\n"
        '                cart_id, "Update Item"',
        "        if True:\n            changed = self.claim(\n"
        '                cart_id, "Update Item"',
        "tests/chaos/test_faults.py::test_on_postgresql",
    ),
    Mutant(
        "a record without what it protects",
        IDEMPOTENCY,
        "            with transaction.atomic():\n                with _request",
        "            if True:\n                with _request",
        "tests/chaos/test_faults.py::test_on_postgresql",
    ),
    Mutant(
        "another request under the same key",
        IDEMPOTENCY,
        "            if bytes(earlier.fingerprint) != fingerprint:\n",
        "            if False:\n",
        "tests/models/test_idempotency.py",
    ),
    Mutant(
        "a replay's own id",
        IDEMPOTENCY,
        "                    return earlier.created_id, None\n",
        "                    return record.created_id, None\n",
        "tests/models/test_idempotency.py",
    ),
    Mutant(
        "carts of every profile",
        "carts/requests.py",
        'keys: dict[str, Any] = {"profile_key": profile_key}\n',
        "keys: dict[str, Any] = {}\n",
        "tests/api/test_ownership.py",
    ),
    Mutant(
        "carts of every partner",
        "carts/requests.py",
        '            keys["partner_key"] = bearer.partner_key\n',
        "            pass\n",
        "tests/api/test_ownership.py",
    ),
    Mutant(
        "carts for every partner",
        VIEWS,
        'if bearer_of(request).partner_key not in (None, values["partner_key"]):',
        "if False:",
        "tests/api/test_ownership.py tests/api/test_identity.py",
    ),
    Mutant(
        "oldest first",
        "carts/models/reads.py",
        'order_by("-id")',
        'order_by("id")',
        "tests/api/test_list_carts.py",
    ),
    Mutant(
        "quantity and counts one below the limit",
        VALIDATORS,
        "    if count > limit:\n",
        "    if count >= limit:\n",
        "tests/api/test_number_limits.py tests/api/test_create_cart.py tests/api/test_fields.py",
    ),
    Mutant(
        "the highest price is too high",
        VALIDATORS,
        "    if price > PRICE_MAX:\n",
        "    if price >= PRICE_MAX:\n",
        "tests/api/test_number_limits.py",
    ),
    Mutant(
        "blanks pass",
        VALIDATORS,
        "    if not value or value.isspace():\n",
        "    if not value:\n",
        "tests/api/test_text_limits.py",
    ),
    Mutant(
        "one character too many",
        "carts/fields.py",
        "        if len(data) > self.max_length:\n",
        "        if len(data) > self.max_length + 1:\n",
        "tests/api/test_text_limits.py",
    ),
    Mutant(
        "texts are trimmed",
        "carts/fields.py",
        "            check(data)\n        return data\n",
        "            check(data)\n        return data.strip()\n",
        "tests/api/test_fuzz.py -k any_unicode",
    ),
    Mutant(
        "members sent twice",
        PARSERS,
        "    if len(members) != len(pairs):\n",
        "    if False:\n",
        "tests/api/test_strict_json.py",
    ),
    Mutant(
        "bodies of any size",
        PARSERS,
        "        if length > limit:\n",
        "        if False:\n",
        "tests/api/test_turns.py -k not_read",
    ),
    Mutant(
        "half a body is a whole one",
        PARSERS,
        "if not chunked and len(body) < length:",
        "if False:",
        "tests/chaos/test_wire.py",
    ),
    Mutant(
        "numbers out of range",
        PARSERS,
        "    if isinf(float(number)):\n",
        "    if False:\n",
        "tests/api/test_strict_json.py",
    ),
    Mutant(
        "an unreadable binding is none",
        AUTHENTICATION,
        "    if profile_key is None:\n",
        "    if False:\n",
        "tests/api/test_bad_tokens.py tests/api/test_identity.py",
    ),
    Mutant(
        "any audience",
        AUTHENTICATION,
        "        settings.JWT_AUDIENCE or None,\n",
        "        None,\n",
        "tests/api/test_identity.py",
    ),
    Mutant(
        "any issuer",
        AUTHENTICATION,
        "        settings.JWT_ISSUER or None,\n",
        "        None,\n",
        "tests/api/test_identity.py",
    ),
    Mutant(
        "any scope",
        PERMISSIONS,
        "        if bearer_of(request).scopes.isdisjoint(scopes):\n",
        "        if False:\n",
        "tests/api/test_identity.py",
    ),
    Mutant(
        "readers may write",
        VIEWS,
        'WRITE = ("Cart.Write",)',
        'WRITE = ("Cart.Write", "Cart.Read")',
        "tests/api/test_identity.py",
    ),
    Mutant(
        "readers may replace",
        VIEWS,
        '        description="Replaces an item entirely, options included: what is not sent is'
        ' not kept.",\n        scopes=WRITE,\n',
        '        description="",\n        scopes=READ,\n',
        "tests/api/test_update_item.py",
    ),
    Mutant(
        "pseudonyms without a key",
        "cartsvc/operations/logs.py",
        "key=_pseudonym_key(), ",
        "",
        "tests/service/test_logs.py",
    ),
    Mutant(
        "any profile",
        PERMISSIONS,
        '        if bearer.profile_key != view.kwargs["profile_key"]:\n',
        "        if False:\n",
        "tests/api/test_ownership.py",
    ),
    Mutant(
        "a migration that waits holds up an index",
        "cartsvc/db/postgresql/base.py",
        "SELECT pg_try_advisory_xact_lock(",
        "SELECT true FROM pg_advisory_xact_lock(",
        "tests/chaos/test_migrate.py",
    ),
    Mutant(
        "any Host",
        "cartsvc/api/middleware.py",
        "            request.get_host()  # refuses a Host that is not ours\n",
        "",
        "tests/api/test_envelope.py tests/chaos/test_wire.py",
    ),
    Mutant(
        "an outage is a defect",
        "cartsvc/api/exceptions.py",
        "        case DatabaseError() if is_outage(error):\n",
        "        case DatabaseError() if False:\n",
        "tests/api/test_outage.py tests/chaos/test_recovery.py::test_a_database_that_is_down",
    ),
    Mutant(
        "an issuer's outage is found out by everybody",
        "cartsvc/api/jwks.py",
        "        self.asked_at = time.monotonic()\n",
        "        pass\n",
        "tests/api/test_jwks.py",
    ),
    Mutant(
        "the trace of an earlier request",
        "cartsvc/api/middleware.py",
        "logs.serving.set(logs.NO_REQUEST)",
        "pass",
        "tests/service/test_logs.py",
    ),
    Mutant(
        "a trace of zeros",
        "cartsvc/api/headers.py",
        "(?!0{32})",
        "",
        "tests/service/test_logs.py",
    ),
    Mutant(
        "bearers by name in the log",
        "cartsvc/operations/logs.py",
        "None if subject is None else pseudonym(subject)",
        "subject",
        "tests/service/test_logs.py",
    ),
    Mutant(
        "ready without its tables",
        "cartsvc/operations/health.py",
        '            return _answer(503, "database read-only")\n        _check_migrations()\n',
        '            return _answer(503, "database read-only")\n',
        "tests/service/test_health.py",
    ),
    Mutant(
        "ready on a server that only reads",
        "cartsvc/db/postgresql/base.py",
        'cursor.fetchone() == ("on",)',
        'cursor.fetchone() == ("?",)',
        "tests/api/test_outage.py",
        postgresql=True,
    ),
    Mutant(
        "any session will do",
        "cartsvc/checks.py",
        "        if found != (wanted := settings.DB_SESSION[name]):\n",
        "        if found == (wanted := settings.DB_SESSION[name]):\n",
        "tests/service/test_checks_capacity.py",
        postgresql=True,
    ),
    Mutant(
        "no end to waiting",
        "cartsvc/db/postgresql/connection.py",
        "interval, end - monotonic())",
        "interval, None)",
        "tests/models/test_postgresql.py",
        postgresql=True,
    ),
    Mutant(
        "a commit that its standby has not is a success",
        "cartsvc/db/postgresql/connection.py",
        "        if self.warnings:\n",
        "        if False:\n",
        "tests/chaos/test_deadline.py::test_a_commit_that_is_cancelled",
    ),
    Mutant(
        "commands are cut like requests",
        "manage.py",
        "    if not SERVING & set(command):\n",
        "    if False:\n",
        "tests/chaos/test_recovery.py::test_a_command_may_take_longer_than_a_request",
    ),
    Mutant(
        "every thread may wait for a body",
        PARSERS,
        "max(1, settings.THREADS - 1)",
        "settings.THREADS",
        "tests/chaos/test_server.py -k bodies",
    ),
    Mutant(
        "counts among what is not ours",
        "cartsvc/operations/server.py",
        '    folder = tempfile.mkdtemp(prefix="cartsvc-metrics-", dir=place)\n',
        '    folder = place or tempfile.mkdtemp(prefix="cartsvc-metrics-")\n',
        "tests/chaos/test_server.py -k counts",
    ),
    Mutant(
        "a server that gives up on its workers",
        "cartsvc/operations/server.py",
        "        if not server.interrupt_signal:\n            time.sleep(1)\n",
        "        return\n",
        "tests/chaos/test_server.py -k killed_again",
    ),
    Mutant(
        "a worker that a terminal stops",
        "cartsvc/operations/server.py",
        "SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}",
        "SIGNALS = {signal.SIGTERM}",
        "tests/chaos/test_server.py -k terminal",
    ),
    Mutant(
        "a worker whose main thread does not notice that it shall stop",
        "cartsvc/operations/server.py",
        '    Thread(target=_heed, name="stop", daemon=True).start()\n',
        "",
        "tests/service/test_serve.py -k whatever",
    ),
    Mutant(
        "a connection that keeps outdated statements",
        "cartsvc/db/postgresql/base.py",
        "if self.connection is None or self.errors_occurred:",
        "if self.connection is None:",
        "tests/models/test_postgresql.py -k changed_column",
        postgresql=True,
    ),
    Mutant(
        "workers without a parent",
        "cartsvc/operations/server.py",
        '    Thread(target=_follow, args=[parent], name="parent", daemon=True).start()\n',
        "",
        "tests/chaos/test_server.py -k outlive",
    ),
    Mutant(
        "ready during the drain",
        "cartsvc/operations/health.py",
        "    if drain.begun():\n",
        "    if False:\n",
        "tests/service/test_drain.py",
    ),
    Mutant(
        "a listener that closes on its queue",
        "cartsvc/operations/drain.py",
        "                each.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)\n",
        "                pass\n",
        "tests/service/test_drain.py",
    ),
    Mutant(
        "a stop that waits for nobody",
        "cartsvc/operations/drain.py",
        "    while _connected() and time.monotonic() < deadline:\n",
        "    while False:\n",
        "tests/service/test_drain.py",
    ),
    Mutant(
        "a worker for each slow caller",
        "cartsvc/operations/nginx.conf",
        "    proxy_request_buffering on;\n",
        "    proxy_request_buffering off;\n",
        "tests/chaos/test_nginx.py -k stalled",
    ),
    Mutant(
        "a statement left running after a wait",
        "cartsvc/db/sqlite/base.py",
        '        self.connection.execute("PRAGMA busy_timeout = 0").close()\n',
        '        kept = self.connection.execute("PRAGMA busy_timeout = 0")  # noqa: F841\n',
        "tests/models/test_sqlite.py",
    ),
    Mutant(
        "an hour of grace for tokens",
        AUTHENTICATION,
        "        leeway=settings.JWT_LEEWAY,\n",
        "        leeway=settings.JWT_LEEWAY + 3600,\n",
        "tests/api/test_bad_tokens.py tests/api/test_identity.py",
    ),
    Mutant(
        "problems without end in a list",
        "carts/serializers.py",
        "                if len(problems) > MOST_TOLD:\n                    break\n",
        "",
        "tests/api/test_cost_of_refusals.py",
    ),
    Mutant(
        "currency problems without end",
        CARTS,
        "list(islice(found, MOST_TOLD + 1))",
        "list(islice(found, None))",
        "tests/models/test_models.py -k currencies",
    ),
    Mutant(
        "totals of another moment than the claim",
        TOTALS,
        ", version=Subquery(seen))",
        ")",
        "tests/api/test_concurrency.py",
        postgresql=True,
    ),
    Mutant(
        "an item that is gone is claimed",
        TOTALS,
        'Q(Exists(_item_taken().filter(cart=OuterRef("pk"))), version',
        "Q(version",
        "tests/models/test_models.py tests/models/test_totals.py",
    ),
    Mutant(
        "options of a new cart without a limit",
        CARTS,
        "        if sums.option_count > settings.MAX_CART_OPTIONS:\n",
        "        if False:\n",
        "tests/models/test_totals.py",
    ),
    Mutant(
        "options of an added item without a limit",
        TOTALS,
        "    if adds:\n        before = ",
        "    if adds and takes:\n        before = ",
        "tests/models/test_totals.py",
    ),
    Mutant(
        "options of a replaced item without a limit",
        TOTALS,
        "    if adds:\n        before = ",
        "    if adds and not takes:\n        before = ",
        "tests/models/test_totals.py",
    ),
    Mutant(
        "subtotals in doubles on SQLite",
        "cartsvc/db/decimals.py",
        'connection, template=call, arg_joiner=", ", **extra)',
        "connection, **extra)",
        "tests/models/test_totals.py",
    ),
    Mutant(
        "sums of options in doubles on SQLite",
        "cartsvc/db/decimals.py",
        'function="exact_sum"',
        'function="SUM"',
        "tests/models/test_totals.py",
    ),
    Mutant(
        "a recount of what is being changed",
        "carts/management/commands/recount_carts.py",
        "rows.select_for_update(skip_locked=skip).values_list",
        "rows.values_list",
        "tests/models/test_totals.py",
        postgresql=True,
    ),
    Mutant(
        "a replay that waits for no standby",
        IDEMPOTENCY,
        "records.select_for_update().first()",
        "records.first()",
        "tests/models/test_idempotency.py",
        postgresql=True,
    ),
    Mutant(
        "one key for all partners",
        IDEMPOTENCY,
        "stored = key if partner_key is None else",
        "stored = key if True else",
        "tests/models/test_idempotency.py",
    ),
    Mutant(
        "a failed write is taken for a twin",
        IDEMPOTENCY,
        "                saved = True\n",
        "                pass\n",
        "tests/models/test_idempotency.py -k not_taken_for_a_twin",
    ),
    Mutant(
        "control characters in claims",
        AUTHENTICATION,
        " or control_character(text):",
        ":",
        "tests/api/test_bad_tokens.py",
    ),
    Mutant(
        "an expired token is one of many",
        AUTHENTICATION,
        "        except ExpiredTokenError:",
        "        except ZeroDivisionError:",
        "tests/api/test_bad_tokens.py",
    ),
    Mutant(
        "each read of the keys has a timeout of its own",
        KEYS,
        "(left := deadline - time.monotonic()) > 0",
        "(left := deadline - time.monotonic() and TIMEOUT_SECONDS) > 0",
        "tests/api/test_jwks.py -k drips",
    ),
    Mutant(
        "keys of any size",
        KEYS,
        " and len(received) <= MAX_BYTES:",
        ":",
        "tests/api/test_jwks.py -k limit_in_bytes",
    ),
    Mutant(
        "a known key waits for the issuer",
        KEYS,
        "            if fetching and not key:\n",
        "            if fetching:\n",
        "tests/api/test_jwks.py -k old_keys_serve",
    ),
    Mutant(
        "everybody waits for one who asks the issuer",
        KEYS,
        "        if not self.asking.acquire(blocking=False):\n",
        "        if not self.asking.acquire(timeout=30):\n",
        "tests/api/test_jwks.py -k hangs",
    ),
    Mutant(
        "keys from what begins like this machine",
        "cartsvc/api/checks.py",
        'host in {name.strip("[]") for name in settings.LOOPBACK}',
        'host.startswith(tuple(name.strip("[]") for name in settings.LOOPBACK))',
        "tests/service/test_checks.py",
    ),
    Mutant(
        "keys from behind a user name",
        "cartsvc/api/checks.py",
        '    if not host or "@" in parts.netloc:\n',
        "    if not host:\n",
        "tests/service/test_checks.py",
    ),
    Mutant(
        "passwords wait in line",
        SIGN_IN,
        "CHECKING.acquire(blocking=False)",
        "CHECKING.acquire()",
        "tests/desk/test_sign_in.py -k of_many_at_once",
    ),
    Mutant(
        "strangers lock out whom they like",
        SIGN_IN,
        'return f"{name[:200]} (browser {browser})" if browser else name[:200]',
        "return name[:200]",
        "tests/desk/test_sign_in.py",
    ),
    Mutant(
        "an address guesses on",
        SIGN_IN,
        "if seconds := _seconds_above_rate(request, changes=changes):",
        "if seconds := 0:",
        "tests/desk/test_sign_in.py -k address",
    ),
    Mutant(
        "a password is guessed in an open browser",
        SIGN_IN,
        "CHANGES = Rate(5, ",
        "CHANGES = Rate(500, ",
        "tests/desk/test_sign_in.py -k open_browser",
    ),
    Mutant(
        "the throttle asks strangers who they are",
        "cartsvc/api/throttling.py",
        "if not isinstance(request.user, Bearer):",
        "if False:",
        "tests/service/test_throttle.py -k strangers",
    ),
    Mutant(
        "an outage is a defect of the desk",
        "cartsvc/urls.py",
        'handler500 = "cartsvc.pages.failed"\n',
        "",
        "tests/desk/test_failures.py -k outage",
    ),
    Mutant(
        "a migration of a large file is interrupted",
        "cartsvc/db/sqlite/base.py",
        "            self.is_migrating = True\n",
        "",
        "tests/service/test_migrate.py -k longer",
    ),
    Mutant(
        "the shell cuts decimals off",
        "cartsvc/db/fields.py",
        "value == int(value)",
        "True",
        "tests/models/test_models.py -k python_takes",
    ),
    Mutant(
        "a token that never ends is a defect",
        AUTHENTICATION,
        "    OSError,  # an `exp` that the C library cannot turn into a date\n",
        "",
        "tests/api/test_bad_tokens.py -k bits",
    ),
    Mutant(
        "an option that was replaced is deleted once more",
        "carts/models/item.py",
        "        if found and all(kept.position != self.position for kept in stored):\n",
        "        if False:\n",
        "tests/models/test_models.py -k replaced_meanwhile",
    ),
    Mutant(
        "staff ask the desk for as many pages as they like",
        PAGES,
        "            if taken:\n",
        "            if True:\n",
        "tests/desk/test_turns.py",
    ),
    Mutant(
        "each session at the desk has a turn of its own",
        PAGES,
        "user = request.session.get(SESSION_KEY)",
        "user = request.session.session_key",
        "tests/desk/test_turns.py",
    ),
    Mutant(
        "strangers have no turn at the desk",
        PAGES,
        'user or client_network(request) or "strangers"',
        "user or request.session._get_or_create_session_key()",
        "tests/desk/test_turns.py -k strangers",
    ),
    Mutant(
        "all strangers have one turn at the desk",
        PAGES,
        "or client_network(request) or",
        "or",
        "tests/desk/test_turns.py -k strangers",
    ),
    Mutant(
        "one user's pages all at once",
        PAGES,
        "        with turns.turn:\n",
        "        if True:\n",
        "tests/desk/test_turns.py -k one_at_a_time",
    ),
    Mutant(
        "pages of the desk are kept",
        PAGES,
        'response.headers.setdefault("Cache-Control", "no-store")',
        "pass",
        "tests/desk/test_sign_in.py -k kept",
    ),
    Mutant(
        "sheets of any length",
        SLIPS,
        "chain.from_iterable(order[:LONGEST])",
        "chain.from_iterable(order)",
        "tests/desk/test_slips.py",
    ),
    Mutant(
        "lines measured again for each character",
        SLIPS,
        'columns = wcwidth.width(" " + cluster) - 1',
        'columns = sum(wcwidth.width(c) for c in line) * 0 + wcwidth.width(" " + cluster) - 1',
        "tests/desk/test_slips.py -k twice_the_text",
    ),
    Mutant(
        "counts in a folder of others",
        "cartsvc/operations/server.py",
        'folder = tempfile.mkdtemp(prefix="cartsvc-metrics-", dir=place)',
        'folder = place or tempfile.mkdtemp(prefix="cartsvc-metrics-")',
        "tests/chaos/test_server.py -k own",
    ),
    Mutant(
        "nobody is told what is left of the rate",
        "cartsvc/api/middleware.py",
        "        if usage := usage_of(request):\n",
        "        if usage := usage_of(request) and None:\n",
        "tests/service/test_throttle.py",
    ),
    Mutant(
        "a throttled caller comes back at once",
        "cartsvc/api/throttling.py",
        "return None if self.usage is None else self.usage.seconds_left",
        "return None",
        "tests/service/test_throttle.py",
    ),
    Mutant(
        "how a cart began is forgotten",
        HISTORY,
        "    if creation:\n",
        "    if False:\n",
        "tests/models/test_history.py",
    ),
    Mutant(
        "names and labels cut by characters",
        HISTORY,
        'return text.encode(errors="replace")[:limit].decode(errors="ignore")',
        "return text[:limit]",
        "tests/models/test_history.py",
    ),
    Mutant(
        "a history without end",
        HISTORY,
        "return Right(longer, KEPT)",
        "return longer",
        "tests/models/test_history.py",
    ),
    Mutant(
        "an operation that names no scope",
        PERMISSIONS,
        "            raise ImproperlyConfigured(",
        "            return True or print(",
        "tests/api/test_identity.py -k declares_none",
    ),
    Mutant(
        "a held cart is no answer on the desk",
        "carts/admin/items.py",
        "return form(problem=BUSY)",
        "raise",
        "tests/desk/test_change.py -k holds",
    ),
    Mutant(
        "a conflict found late is any problem",
        "carts/admin/items.py",
        "            if self.cart.version != version:\n                return form(since",
        "            if False:\n                return form(since",
        "tests/desk/test_change.py -k between",
    ),
    Mutant(
        "a page remembers where another began",
        "carts/admin/desk.py",
        '    query.pop("before", None), query.pop("after", None)\n',
        "",
        "tests/desk/test_find.py -k both_ways",
    ),
    Mutant(
        "who works on something large keeps the interpreter",
        "cartsvc/operations/server.py",
        "    sys.setswitchinterval(SWITCH_INTERVAL)\n",
        "",
        "tests/service/test_serve.py -k millisecond",
    ),
    Mutant(
        "a large cart is read before its turn",
        "cartsvc/api/turns.py",
        "    if key in _large:\n",
        "    if False:\n",
        "tests/api/test_turns.py -k large_carts",
    ),
    Mutant(
        "statements without an end on SQLite",
        "cartsvc/db/sqlite/base.py",
        "        connection.set_progress_handler(self._is_late, INSTRUCTIONS)\n",
        "",
        "tests/models/test_sqlite.py -k interrupted",
    ),
    Mutant(
        "a database file for everybody",
        "cartsvc/db/sqlite/base.py",
        "os.O_CREAT | os.O_EXCL, 0o600",
        "os.O_CREAT | os.O_EXCL, 0o644",
        "tests/service/test_migrate.py -k users_only",
    ),
    Mutant(
        "two migrations at once",
        "cartsvc/db/sqlite/base.py",
        "            flock(file, LOCK_EX)\n",
        "            pass\n",
        "tests/service/test_migrate.py -k waits",
    ),
    Mutant(
        "a history in escapes",
        HISTORY,
        "ensure_ascii=False",
        "ensure_ascii=True",
        "tests/models/test_history.py -k script",
    ),
    Mutant(
        "keys that nobody counts",
        "carts/requests.py",
        "            RECORDED.inc()\n",
        "            pass\n",
        "tests/models/test_idempotency.py",
    ),
    Mutant(
        "a proxy that answers in HTML",
        "cartsvc/operations/nginx.conf",
        "    error_page 400 411 421 497 501 505 =400 ",
        "    error_page 411 421 497 501 505 =400 ",
        "tests/chaos/test_nginx.py -k envelope",
    ),
    Mutant(
        "conflicts that nobody counts",
        "cartsvc/operations/metrics.py",
        "    elif status in (409, 412, 422):\n",
        "    elif status in (409, 422):\n",
        "tests/service/test_metrics.py",
    ),
    Mutant(
        "carts of any age are purged",
        "carts/management/commands/purge_carts.py",
        "            required=True,\n",
        '            default="1h",\n',
        "tests/models/test_purge_carts.py -k age",
    ),
]


def stale(mutants: list[Mutant]) -> list[str]:
    """Return a complaint for each mutant whose line or tests no longer exist.

    The line must be in its file exactly once.
    """
    complaints = []
    for mutant in mutants:
        file = ROOT / mutant.file
        found = file.read_text().count(mutant.old) if file.exists() else 0
        if found != 1:
            complaints.append(f"{mutant.name}: {mutant.file} holds its line {found} times.")
        complaints += [
            f"{mutant.name}: there is no {path}."
            for path in test_paths(mutant)
            if not (ROOT / path.partition("::")[0]).exists()
        ]
    return complaints


def test_paths(mutant: Mutant) -> list[str]:
    return [word for word in mutant.tests.split() if word.startswith("tests/")]


def survives(mutant: Mutant) -> bool:
    """Run the mutant's tests in a copy of the tree. Return whether all of them passed."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in TREE:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(folder, name))
            else:
                shutil.copy(source, folder)
        file = Path(folder, mutant.file)
        file.write_text(file.read_text().replace(mutant.old, mutant.new))
        with on_postgresql() if mutant.postgresql else nullcontext({}) as variables:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-xq", "-n", "0", *mutant.tests.split()],
                cwd=folder,
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
                timeout=1200,
            )
        # 1 is "tests failed"; anything above is that they did not run.
        if done.returncode > 1:
            raise RuntimeError(f"{mutant.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 0


@contextmanager
def on_postgresql() -> Iterator[dict[str, str]]:
    """Yield the environment of a service on a private PostgreSQL."""
    with private_cluster() as cluster:
        yield {
            "DATABASE_URL": cluster.url(),
            "SECRET_KEY": token_hex(32),
            "JWT_SIGNING_KEY": token_hex(32),
        }


def unchanged(mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants that are none, one a database: with them every test must pass."""
    nothing = []
    for postgresql in (False, True):
        chosen = [mutant for mutant in mutants if mutant.postgresql == postgresql]
        if paths := {path for mutant in chosen for path in test_paths(mutant)}:
            tests = " ".join(sorted(paths))
            nothing.append(Mutant("no sabotage", "manage.py", "", "", tests, postgresql))
    return nothing


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation",
        description="Sabotage the code line by line, in a copy, and see the tests fail.",
    )
    parser.add_argument("words", nargs="*", help="only sabotages whose name contains all of these")
    parser.add_argument("--pins", action="store_true", help="only check that the lines exist")
    options = parser.parse_args()
    started, survivors = time.monotonic(), []
    chosen = [m for m in MUTANTS if all(word in m.name for word in options.words)]
    if not chosen:
        parser.error("no sabotage has such a name")
    if complaints := stale(chosen):
        print("Sabotages that no longer fit the code:", *complaints, sep="\n  ")
        return 1
    if options.pins:
        print(f"All {len(chosen)} lines are where they were.")
        return 0
    if not all(survives(nothing) for nothing in unchanged(chosen)):
        print("The tests fail without a sabotage: what they catch says nothing.")
        return 1
    for mutant in chosen:
        survived = survives(mutant)
        print(f"{'SURVIVED' if survived else 'caught  '} {mutant.name}", flush=True)
        if survived:
            survivors.append(mutant)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught in ", end="")
    print(f"{time.monotonic() - started:.0f} s")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main())
