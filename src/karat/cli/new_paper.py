"""Write the package of a new paper from templates."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


def write_package(key: str, home: Path) -> None:
    """Write the package of a paper into a folder that is not there yet.

    Args:
        key: of the paper.
        home: folder to make.
    """
    module = f"karat_{key.replace('-', '_')}"
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )
    texts = {
        _target(home, module, name): environment.get_template(name).render(key=key, module=module)
        for name in environment.list_templates(extensions=["j2"])
    }
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _target(home: Path, module: str, template: str) -> Path:
    """Where the text of "package/checks.py.j2" belongs."""
    return home / template.removesuffix(".j2").replace("package/", f"src/{module}/")
