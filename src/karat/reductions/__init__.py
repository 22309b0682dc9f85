"""Exact reductions: dynamics that live in few coordinates are run there, at a cost that does not grow with d.

Every package in this folder is one reduction, and its functions reduce, step, lift and obstacle keep the
contract of `karat.reductions.contract`.
"""
