"""Certificates of services with TLS: which ones are trusted, and what to do about one that is not."""

import os
import ssl

import httpx

from bigbatch.errors import BigbatchError


def trusted_certificates() -> ssl.SSLContext:
    """Return the trust in SSL_CERT_FILE or SSL_CERT_DIR, else in the public authorities and the system's own.

    Raise BigbatchError if a variable names no certificates.
    """
    named = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), None)
    try:
        context = httpx.create_ssl_context()
    except (OSError, ssl.SSLError) as error:
        problem = f"{named}={os.environ.get(named or '')} cannot be used ({error.strerror or error})"
        raise BigbatchError(f"{problem}: name a file of certificates in PEM, or unset the variable") from error
    if not named:
        context.load_default_certs()  # where a site installs its own authority; httpx knows the public ones alone
    return context


def tls_hint(error: Exception) -> str | None:
    """Return what to do about a failed handshake; None for another failure."""
    found = error.__cause__ or error.__context__
    while found and not isinstance(found, ssl.SSLError):
        found = found.__cause__ or found.__context__
    if isinstance(found, ssl.SSLCertVerificationError):
        return _certificate_hint(found)
    if isinstance(found, ssl.SSLError) and found.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return "nothing speaks TLS there: use http:// in the address"
    return None


def _certificate_hint(error: ssl.SSLCertVerificationError) -> str:
    told = error.verify_message or ""
    if "mismatch" in told or "not valid for" in told:
        return "use the name that the certificate has in the address"
    if "expired" in told or "not yet valid" in told:
        return "renew the certificate, or look at this machine's clock"
    return (
        "set SSL_CERT_FILE to a file in PEM with the certificate of the authority that signed it; "
        "a self-signed certificate is its own authority"
    )
