"""What a deployment of the service needs, whatever it serves."""

# The release. The API's own version is in its paths.
__version__ = "1.0.0"
