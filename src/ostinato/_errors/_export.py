"""Messages of ``export``: what: (class, message, hint)."""

MESSAGES = {}
