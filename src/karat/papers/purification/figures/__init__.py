"""The figures of purification; a figure reads records and runs nothing."""
