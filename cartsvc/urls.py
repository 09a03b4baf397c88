from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path
from django.views.generic import RedirectView


def home(request: HttpRequest) -> HttpResponse:
    """Lead staff to the desk, and everybody else to the document of the API."""
    return redirect("admin:index" if request.user.is_staff else "docs")


handler500 = "cartsvc.page_middleware.handle_error"

urlpatterns = [
    path("", include(settings.API_URLCONF)),
    path("", home),
    path("docs/", RedirectView.as_view(pattern_name="docs")),
    # Django's way to an object's own page. No model here has one.
    path("admin/r/<path:url>", admin.site.admin_view(admin.site.catch_all_view)),
    path("admin/", admin.site.urls),
]
