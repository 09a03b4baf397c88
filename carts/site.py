from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from carts.models import Cart


class Desk(AdminSite):
    """The admin site of the support desk. Its pages are in `carts.admin`, which needs the site."""

    site_header = "Cart service · Support desk"
    site_title = "Support desk"
    index_title = "What would you like to do?"
    site_url = None
    enable_nav_sidebar = False

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Sign in. Whoever may see carts arrives at the search, not at the start page."""
        response: HttpResponse = super().login(request, extra_context)
        if response.headers.get("Location") == reverse("admin:index"):
            carts = self.get_model_admin(Cart)
            if carts.has_view_or_change_permission(request):
                response.headers["Location"] = reverse("admin:carts_cart_changelist")
        return response
