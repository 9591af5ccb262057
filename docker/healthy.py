"""Health check of the API: exit 0 when the API answers a request with its token."""

import os
from urllib.request import Request, urlopen

request = Request("http://127.0.0.1:8000/api/v1/health")
request.add_header("Authorization", f"Bearer {os.environ['BIGBATCH_TOKEN']}")
urlopen(request, timeout=5).read()
