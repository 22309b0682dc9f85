"""All commands, as one."""

from typing import Annotated

import typer

from karat.cli import (
    bench,
    browse,
    certify,
    contract,
    probe,
    regime,
    replay,
    reproduce,
    run,
    show,
    store,
    sweep,
    tables,
)
from karat.version import __version__

app = typer.Typer(
    name="karat",
    help="A laboratory for the theory of robust feature learning: theorems as executable claims.",
    pretty_exceptions_enable=False,
)
app.command()(browse.papers)
app.command()(browse.claims)
app.command()(show.show)
app.command()(browse.experiments)
app.command()(run.run)
app.command()(run.check)
app.command()(sweep.sweep)
app.command()(regime.regime)
app.command()(reproduce.reproduce)
app.command()(reproduce.report)
app.command()(tables.table)
app.command()(replay.replay)
app.command()(bench.bench)
app.command()(certify.certify)
app.command()(probe.probe)
app.command("new-paper")(contract.new_paper)
app.command()(contract.contract)
app.add_typer(store.app, name="store")


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """A laboratory for the theory of robust feature learning: theorems as executable claims."""
    if version:
        print(f"karat {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
