"""Search along rays out of samples: where the margin first changes its sign, and where it is smallest.

`search` chooses between `breakpoints`, exact on nets of straight pieces, and `scan`, which evaluates points.
"""
