"""Messages of ``cli``: what: (class, message, hint)."""

MESSAGES = {}
