"""Thin glue between our two kinds and the pure rules: what came from the cluster in, desired status out."""
