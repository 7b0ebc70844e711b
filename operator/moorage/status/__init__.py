"""From a spec and what was found in the cluster to the status that people read: pure, shared by operator and CLI."""
