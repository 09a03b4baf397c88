from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from cartsvc.operations import health

# Swagger UI needs inline styles, and its styles hold icons as data: URLs.
docs = csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]})(
    SpectacularSwaggerSplitView.as_view(url_name="openapi")
)

urlpatterns = [
    path("v2.0/", include("carts.urls")),
    path("docs", docs),
    path("admin/", admin.site.urls),
    path("healthz", health.process),
    path("readyz", health.ready),
]
