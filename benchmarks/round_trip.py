"""How round-trip consistency relates to correctness in a chain run: two papers' quantities, joined.

    python -m benchmarks.round_trip RUN

A chain's first program is right if it passes the hidden tests; its consistency is the share of
tests whose output survives one round trip through words. A trust run of the same problems takes the
same quantity as a feature with ``trust.chains=RUN``.
"""

import argparse
from pathlib import Path

from analysis.tables import read_run
from analysis.trust.roundtrip import first_programs
from analysis.trust.roundtrip_figures import relate_round_trips
from conf import UserError


def main() -> None:
    """Print the figures of a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a chain run")
    options = parser.parse_args()
    try:
        frame = first_programs(read_run(options.run))
    except UserError as error:
        parser.exit(2, f"{error}\n")
    print("\n".join(relate_round_trips(frame).lines()))


if __name__ == "__main__":
    main()
