"""The figures of features; a figure reads records and runs nothing."""
