"""Checks of lazy: how its statements are tested."""
