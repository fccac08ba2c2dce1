"""Tests of the engine: where the law meets a store."""
