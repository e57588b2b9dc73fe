"""The tables of a program-spec matrix as polars frames."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from conf import UserError

COMMIT_TABLE = "checks"


@dataclass(frozen=True, slots=True)
class TrustTables:
    """Programs, specs, outputs and checks, as ``docs/trust.md`` describes them."""

    programs: pl.DataFrame
    specs: pl.DataFrame
    outputs: pl.DataFrame
    checks: pl.DataFrame

    @property
    def sampled(self) -> pl.DataFrame:
        """The programs that a model wrote: all but the problems' own solutions."""
        return self.programs.filter(pl.col("weight") > 0)


def read_matrix(folder: Path) -> TrustTables:
    """Read the finished problems of a matrix.

    Raises:
        UserError: there is none.
    """
    done = sorted(path.name for path in (folder / COMMIT_TABLE).glob("*.parquet"))
    if not done:
        raise UserError(f"{folder}: no finished matrix there (no files in {COMMIT_TABLE}/)")
    frames = {
        table: pl.read_parquet([folder / table / name for name in done])
        for table in TrustTables.__slots__
    }
    return TrustTables(**frames)
