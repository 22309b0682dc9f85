"""The figures of benign; a figure reads records and runs nothing."""
