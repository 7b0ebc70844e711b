"""A small autoscaler with suspended nodes, for tests: outside of GKE there is none."""
