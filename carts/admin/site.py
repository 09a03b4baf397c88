from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite, site
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from carts.models import Cart, FirstPassword
from cartsvc.identity.sign_in import has_ended, renew_session


def desk_page(
    request: HttpRequest, name: str, context: Mapping[str, object], *, status: int = 200
) -> HttpResponse:
    """Return a page of the desk. `name` is that of a template in templates/desk/."""
    template = f"desk/{name}.html"
    context = {**site.each_context(request), **context}
    return TemplateResponse(request, template, context, status=status)


# Of a session: whether somebody else has chosen the password.
CHOSEN_BY_OTHERS = "first_password"


class Desk(AdminSite):
    """The admin site of the support desk, in which `carts.admin` registers its pages."""

    site_header = "Cart service · Support desk"
    site_title = "Support desk"
    index_title = "What would you like to do?"
    site_url = None
    enable_nav_sidebar = False
    logout_template = "admin/logged_out.html"

    def has_permission(self, request: HttpRequest) -> bool:
        allowed = super().has_permission(request)
        if "If-Match" in request.headers:
            pass  # an open page asks whether its cart has changed: nobody may be there
        elif allowed:
            renew_session(request)
        elif has_ended(request):
            lost = " Nothing was saved." if request.method == "POST" else ""
            messages.warning(request, f"Your session has ended.{lost}")
        if allowed and request.session.get(CHOSEN_BY_OTHERS):
            return request.path in map(reverse, ("admin:password_change", "admin:logout"))
        return allowed

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        if request.method == "GET" and request.session.get(CHOSEN_BY_OTHERS):
            return HttpResponseRedirect(reverse("admin:password_change"))
        return super().login(request, extra_context)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> Any:
        if request.session.get(CHOSEN_BY_OTHERS):
            extra_context = {"title": "Choose a password of your own"}
        response: HttpResponse = super().password_change(request, extra_context)
        if response.status_code != 302:
            return response
        FirstPassword.objects.filter(account_id=request.user.pk).delete()
        request.session[CHOSEN_BY_OTHERS] = False
        messages.success(request, "Your password was changed.")
        return HttpResponseRedirect(reverse("admin:index"))

    def index(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> Any:
        """Lead whoever may see carts to the search, and show others Django's start page."""
        if self.get_model_admin(Cart).has_view_or_change_permission(request):
            return HttpResponseRedirect(reverse("admin:carts_mine"))
        return super().index(request, extra_context)

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Any = None) -> Any:
        return HttpResponseRedirect(reverse("admin:index"))
