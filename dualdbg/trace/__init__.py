"""Traces: what probes have counted and taken down in the target, read while it runs, and what it means."""
