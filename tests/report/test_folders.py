"""Absolute paths lose their folders; all other text stays as it is."""

import pytest

from karat.report.folders import without_folders


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cannot open /home/ada/x.npz", "cannot open x.npz"),
        ("at /home/ada/:", "at ada:"),
        ("(/a/b.py, line 3)", "(b.py, line 3)"),
        ("PATH=/a/b:/c/d", "PATH=b:d"),
        ("'/home/a b/c d.txt' and \"/x/y\"", "'c d.txt' and \"y\""),
        (r"C:\Users\ada\net.pt is missing", "net.pt is missing"),
        (r"\\server\share\net.pt is missing", "net.pt is missing"),
        ("~/lab/net.pt, ~ada/net.pt", "net.pt, net.pt"),
        ("file:///home/ada/x.csv", "x.csv"),
        ("`/home/ada/a.pt`: No such file.", "`a.pt`: No such file."),
    ],
)
def test_absolute_paths_are_cut_to_their_last_name(text, wanted):
    assert without_folders(text) == wanted
    assert without_folders(wanted) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "ratio n/d, 1 / 2, 3 /4, a//b",
        "https://example.org/a/b?c=/d",
        "data/digits.npz and ./x/y and ../z/w",
        "ValueError: `tau` must be >= 0, got -1 (KeyError: 'x')",
        "and/or; 10:30; it's",
        "",
    ],
)
def test_everything_else_stays(text):
    assert without_folders(text) == text
