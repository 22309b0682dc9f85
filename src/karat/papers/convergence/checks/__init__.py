"""Checks of convergence: how its statements are tested."""
