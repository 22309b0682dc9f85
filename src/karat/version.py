"""The version of karat; stored in every record."""

__version__ = "0.1.0"
