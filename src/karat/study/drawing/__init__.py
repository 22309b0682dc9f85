"""What the figures of all papers share: colours, pictures, series, mosaics."""
