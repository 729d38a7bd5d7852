"""Engines and readers that keep the promises of the real ones, without a process: for tests of the session alone."""
