"""The page to try the API: Swagger UI, with docs.js and docs.css."""

from csp.decorators import csp_update
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class Docs(SpectacularSwaggerSplitView):
    url_name = "openapi"
    template_name = "docs.html"
    http_method_names = ["get", "head"]

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        return super().perform_content_negotiation(request, force=True)  # whatever Accept says


# The styles of Swagger UI hold icons as data: URLs.
docs = csp_update({"img-src": ["data:"]})(Docs.as_view())
