"""Messages of ``torchscript``: what: (class, message, hint)."""

MESSAGES = {}
