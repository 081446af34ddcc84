"""The options for learning on several machines or processes."""

from __future__ import annotations

from polyak.cli.options.arguments import Parser, positive


def add_engine(parser: Parser) -> None:
    """Add the options."""
    engine = parser.add_rare_group("several machines or processes")
    engine.add_argument("--engine", choices=("dask",), help="learn on the workers of a cluster")
    engine.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the cluster, such as tcp://host:8786"
    )
    engine.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="number of local workers to start (default: one per processor)",
    )
    engine.add_argument(
        "--rounds",
        type=positive,
        metavar="N",
        help="how often the workers' models are averaged (default: chosen from the data)",
    )
