from csp.decorators import csp_update
from django.urls import path, register_converter
from django.views.generic import TemplateView

from carts.openapi.document import DocumentView
from carts.views import CartItemViewSet, CartViewSet, ChangesViewSet
from cartsvc.guids import GuidConverter

register_converter(GuidConverter, "guid")

# The page to try the API. The styles of Swagger UI hold icons as data: URLs.
docs = csp_update({"img-src": ["data:"]})(TemplateView.as_view(template_name="docs.html"))

CARTS_PATH = "v2.0/customers/<guid:profile_key>/carts"

# Django takes the first that fits, so `items/batch` comes before the path of an item, whose
# converter takes any text.
urlpatterns = [
    path(CARTS_PATH, CartViewSet.as_view({"post": "create", "get": "list"})),
    path(
        f"{CARTS_PATH}/<guid:cart_id>",
        CartViewSet.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
    ),
    path(
        f"{CARTS_PATH}/<guid:cart_id>/items/batch",
        CartItemViewSet.as_view({"post": "create_several"}),
    ),
    path(
        f"{CARTS_PATH}/<guid:cart_id>/items/<guid:item_id>",
        CartItemViewSet.as_view({"put": "update", "patch": "partial_update", "delete": "destroy"}),
    ),
    path(
        f"{CARTS_PATH}/<guid:cart_id>/items",
        CartItemViewSet.as_view({"post": "create", "put": "update_all"}),
    ),
    path(f"{CARTS_PATH}/<guid:cart_id>/close", CartViewSet.as_view({"post": "close"})),
    path(f"{CARTS_PATH}/<guid:cart_id>/move", CartViewSet.as_view({"post": "move"})),
    path(f"{CARTS_PATH}/<guid:cart_id>/reopen", CartViewSet.as_view({"post": "reopen"})),
    path("v2.0/changes", ChangesViewSet.as_view({"get": "list"})),
    path("v2.0/openapi.json", DocumentView.as_view(), name="openapi"),
    path("docs", docs, name="docs"),
]
