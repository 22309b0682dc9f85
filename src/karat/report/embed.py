"""Figures as text inside a page, so that a report is one file without neighbours."""

import base64
import io

from matplotlib.figure import Figure

DPI = 150


def data_uri(figure: Figure) -> str:
    """Return the figure as the address of a PNG that the page itself carries.

    >>> data_uri(Figure(figsize=(1, 1)))[:22]
    'data:image/png;base64,'
    """
    buffer = io.BytesIO()
    # Without the software stamp equal figures give equal bytes.
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
