"""l_inf attacks on two-layer nets of hinges: between two changes of sign every step is the same.

Modules are imported one by one: only `steps` needs compiled code.
"""
