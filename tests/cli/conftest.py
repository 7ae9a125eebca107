"""Trials without a process of their own."""

from tests.trials import trials_in_this_process as trials_in_this_process
