"""Checks of benign: how its statements are tested."""
