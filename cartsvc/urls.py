from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

from cartsvc import health

urlpatterns = [
    path("v2.0/", include("carts.urls")),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="openapi")),
    path("admin/", admin.site.urls),
    path("healthz", health.process),
    path("readyz", health.ready),
]
