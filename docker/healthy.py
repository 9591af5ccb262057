"""Health check of the API: exit 0 when the API answers; this request needs no token."""

from urllib.request import urlopen

urlopen("http://127.0.0.1:8000/api/v1/health", timeout=5).read()
