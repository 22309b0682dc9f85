"""The theorems' formulas, one file per paper: scalars in, scalar out, no training."""
