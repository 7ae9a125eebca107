"""Messages of ``deployment``: what: (class, message, hint)."""

MESSAGES = {}
