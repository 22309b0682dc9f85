"""Checks of purification: how its statements are tested."""
