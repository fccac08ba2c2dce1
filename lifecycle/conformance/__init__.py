"""Suites for people who write parts of their own: what a part must do, as tests that run against it."""
