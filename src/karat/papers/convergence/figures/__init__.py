"""The figures of convergence; a figure reads records and runs nothing."""
