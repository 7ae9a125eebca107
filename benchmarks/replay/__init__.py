"""Replay beside every other way to run a PyTorch model on a CPU: nine rows, one process, all in turn.

``_rows`` says what is run, ``_peers`` who runs it, ``_measure`` times and compares,
``_machine`` finds the limits that the rows are held against, ``_report`` prints and keeps the result.
"""
