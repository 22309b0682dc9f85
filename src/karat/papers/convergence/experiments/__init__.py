"""Experiments of convergence: surrogate losses, kernels, capacity, and the question shared with lazy."""
