"""Timings: what Ostinato gains over stock torch, measured side by side in one process."""
