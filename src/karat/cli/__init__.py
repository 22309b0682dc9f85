"""The command line: thin, no maths."""
