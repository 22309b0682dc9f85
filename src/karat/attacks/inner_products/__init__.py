"""l2 attacks on two-layer nets from inner products alone: nothing here depends on the input dimension.

Modules are imported one by one: only `attack` needs compiled code.
"""
