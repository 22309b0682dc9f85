"""Messages without the folders of whoever ran the cells: a report is passed on, a store stays at home."""

import re

_ROOT = r"(?:/(?!/)|~[\w.-]*/|[A-Za-z]:[\\/]|\\\\)"
_QUOTED = re.compile(rf"(?P<quote>['\"`])(?:file://)?(?P<path>{_ROOT}[^'\"`]*)(?P=quote)")
_BARE = re.compile(rf"(?:file://|(?<![\w./\\~]))(?P<path>{_ROOT}[^\s'\"`,;:()\[\]<>{{}}|]+)")


def without_folders(text: str) -> str:
    """Return the text with every absolute path cut down to the name at its end.

    >>> without_folders("OSError: [Errno 2] No such file: '/home/ada/my data/x.csv'")
    "OSError: [Errno 2] No such file: 'x.csv'"
    >>> without_folders("line 3 of /home/ada/lab.py:run, see https://example.org/a/b, ratio n/d")
    'line 3 of lab.py:run, see https://example.org/a/b, ratio n/d'
    """
    text = _QUOTED.sub(lambda found: f"{found['quote']}{_last(found['path'])}{found['quote']}", text)
    return _BARE.sub(lambda found: _last(found["path"]), text)


def _last(path: str) -> str:
    names = [name for name in re.split(r"[\\/]", path) if name]
    return names[-1] if len(names) > 1 else path
