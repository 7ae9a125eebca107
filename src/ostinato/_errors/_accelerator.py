"""Messages of ``accelerator``: what: (class, message, hint)."""

MESSAGES = {}
