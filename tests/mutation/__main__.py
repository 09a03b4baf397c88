"""One-line sabotages of the code, each of which the tests must catch.

python -m tests.mutation            all of them, each in a copy of the tree
python -m tests.mutation guard      those whose name holds the word
python -m tests.mutation --pins     only look whether every line to sabotage is still there
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TREE = ("cartsvc", "carts", "tests", "manage.py", "pytest.ini", "requirements.txt")


class Mutant(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    tests: str


CARTS = "carts/models/manager.py"
IDEMPOTENCY = "carts/models/idempotency.py"
VIEWS = "carts/views.py"
VALIDATORS = "carts/validators.py"
PARSERS = "cartsvc/api/body.py"
AUTHENTICATION = "cartsvc/api/authentication.py"
PERMISSIONS = "cartsvc/api/permissions.py"

MUTANTS = [
    Mutant(
        "any version will do",
        CARTS,
        '            expected["version"] = version\n',
        "            pass\n",
        "tests/api/test_if_match.py",
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
        "        if mismatches:\n            raise Refused(*mismatches)\n",
        "",
        "tests/api/test_currency.py",
    ),
    Mutant(
        "Add Item claims nothing",
        CARTS,
        '            self.claim(cart_id, "Add Item", version=version, draft=draft)\n',
        "",
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
        CARTS,
        "removed = CartItem.objects.filter(pk=item_id, cart_id=cart_id).delete()",
        "removed = CartItem.objects.filter(pk=item_id).delete()",
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
        CARTS,
        'if last["count"] >= settings.MAX_ITEMS:',
        'if last["count"] > settings.MAX_ITEMS:',
        "tests/api/test_add_item.py tests/api/test_number_limits.py",
    ),
    Mutant(
        "a replacement in pieces",
        CARTS,
        '        with atomic():\n            self.claim(cart_id, "Update Item"',
        '        if True:\n            self.claim(cart_id, "Update Item"',
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
        "            return earlier.created_id, True\n",
        "            return record.created_id, True\n",
        "tests/models/test_idempotency.py",
    ),
    Mutant(
        "carts of every profile",
        VIEWS,
        'keys: dict[str, Any] = {"profile_key": profile_key}\n',
        "keys: dict[str, Any] = {}\n",
        "tests/api/test_ownership.py",
    ),
    Mutant(
        "carts of every partner",
        VIEWS,
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
        CARTS,
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
        "    if max(length, len(body)) > limit:\n",
        "    if False:\n",
        "tests/api/test_strict_json.py tests/api/test_media_type.py tests/api/test_envelope.py"
        " tests/chaos/test_wire.py",
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
        "bearers by name in the log",
        "cartsvc/operations/logs.py",
        "None if subject is None else pseudonym(subject)",
        "subject",
        "tests/service/test_logs.py",
    ),
    Mutant(
        "ready without its tables",
        "cartsvc/operations/health.py",
        '            cursor.execute("SELECT 1")\n        _check_migrations()\n',
        '            cursor.execute("SELECT 1")\n',
        "tests/service/test_health.py",
    ),
    Mutant(
        "commands are cut like requests",
        "manage.py",
        "    if not SERVING & set(sys.argv[1:2]):\n",
        "    if False:\n",
        "tests/chaos/test_recovery.py::test_a_command_may_take_longer_than_a_request",
    ),
    Mutant(
        "a server that gives up on its workers",
        "cartsvc/operations/server.py",
        "            if not server.interrupt_signal:\n                time.sleep(1)\n",
        "            return\n",
        "tests/chaos/test_server.py -k killed_again",
    ),
    Mutant(
        "workers without a parent",
        "cartsvc/operations/server.py",
        '    Thread(target=_follow, args=[parent], name="parent", daemon=True).start()\n',
        "",
        "tests/chaos/test_server.py -k outlive",
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
]


def stale(mutants: list[Mutant]) -> list[str]:
    """Say of each mutant whose line is not in its file exactly once, or whose tests are gone."""
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
    """Run the mutant's tests in a copy of the tree; return whether none of them failed."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in TREE:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(folder, name))
            else:
                shutil.copy(source, folder)
        file = Path(folder, mutant.file)
        file.write_text(file.read_text().replace(mutant.old, mutant.new))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-xq", "-n", "0", *mutant.tests.split()],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=1200,
        )
        # 1 is "tests failed"; anything above is that they did not run.
        if done.returncode > 1:
            raise RuntimeError(f"{mutant.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 0


def unchanged(mutants: list[Mutant]) -> Mutant:
    """Return the mutant that is none: with it every test must pass."""
    paths = {path for mutant in mutants for path in test_paths(mutant)}
    return Mutant("no sabotage", "manage.py", "", "", " ".join(sorted(paths)))


def main(words: list[str]) -> int:
    started, survivors = time.monotonic(), []
    pins_only = "--pins" in words
    words = [word for word in words if word != "--pins"]
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.name for word in words)]
    if complaints := stale(chosen):
        print("Sabotages that no longer fit the code:", *complaints, sep="\n  ")
        return 1
    if pins_only:
        print(f"All {len(chosen)} lines are where they were.")
        return 0
    if not survives(unchanged(chosen)):
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
    sys.exit(main(sys.argv[1:]))
