from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView

urlpatterns = [
    path("v2.0/", include("carts.urls")),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="openapi")),
    path("admin/", admin.site.urls),
]
