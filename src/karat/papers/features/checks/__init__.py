"""Checks of features: how its statements are tested."""
