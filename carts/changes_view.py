"""List Changes, the operation on the carts of all customers."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from carts.models.change_feed import OLDEST, ListedChange, changes_after
from carts.models.idempotency import Answer
from carts.models.reads import PageCursor
from carts.operation_view import OperationView
from cartsvc.api.operation import Operation
from cartsvc.api.query import QueryParameter, integer_between
from cartsvc.concurrency_limit import WAITING
from cartsvc.json_values import compact_json
from cartsvc.member_names import camel_case
from cartsvc.request_errors import InvalidParameter

CHANGES_PAGE_SIZE, MAX_CHANGES_PAGE_SIZE = 100, 1_000


def _cursor(text: str) -> PageCursor | None:
    return OLDEST if text == "0" else PageCursor.parsed(text)


CHANGES_PARAMETERS = {
    "after": QueryParameter(_cursor, "be 0 or a next of List Changes"),
    "limit": QueryParameter(
        integer_between(1, MAX_CHANGES_PAGE_SIZE),
        f"be 1 to {MAX_CHANGES_PAGE_SIZE}",
        CHANGES_PAGE_SIZE,
    ),
}
MEMBERS = [camel_case(name) for name in ListedChange._fields]


class ChangesViewSet(OperationView):
    """What has changed in the carts of all customers, for back ends."""

    tag = "Changes"

    @Operation(
        name="List Changes",
        description=(
            "Every creation, change, move and deletion of carts, each at least once, and those of "
            "a cart in the order of its versions."
        ),
        message="The changes were found.",
        scopes=("Cart.Read",),
        required_scope=settings.ANY_PROFILE_SCOPE,
        data="ChangesPage",
        query_parameters=("after", "limit of List Changes"),
        errors=(InvalidParameter,),
    )
    def list(self, request: HttpRequest) -> HttpResponse:
        seen, limit = self.query(CHANGES_PARAMETERS).values()
        with WAITING.seat_for((self.caller, "reads")):
            changes, following = changes_after(seen, limit, self.bearer.keys)
        listed = [dict(zip(MEMBERS, change, strict=True)) for change in changes]
        return self.answer(Answer(compact_json({"changes": listed, "next": str(following)})))
