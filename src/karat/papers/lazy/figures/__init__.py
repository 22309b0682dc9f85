"""The figures of lazy; a figure reads records and runs nothing."""
