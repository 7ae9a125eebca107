"""One file a device; each is imported when a graph for its device is first made."""
