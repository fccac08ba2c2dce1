"""Tests of the stores: the one suite for all, and what is a store's own."""
