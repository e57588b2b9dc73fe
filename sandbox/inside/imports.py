"""What programs may import: the standard library, and a few packages of the environment.

The environment as a whole stays closed: a benchmark's package would hold its own solutions.
"""

import _sitebuiltins
import builtins
import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType


def _words(text: str) -> list[str]:
    return text.split()


PRELOADED = _words("""
bisect collections collections.abc copy functools heapq itertools json math operator re string
typing
""")
"""Loaded before the fork at every level. A module belongs here when more than about one program in
fifty imports it: each one makes every fork a little dearer."""

WIDE = _words("""
abc array calendar cmath contextlib dataclasses datetime decimal enum fractions hashlib io numbers
os queue random statistics struct textwrap time types unicodedata
argparse ast asyncio base64 binascii cProfile code codecs colorsys concurrent.futures
configparser copyreg csv ctypes difflib dis email.message encodings.idna encodings.latin_1
encodings.utf_16 errno fnmatch gc getopt getpass glob graphlib gzip hmac html html.parser
importlib.resources inspect ipaddress keyword linecache locale logging lzma bz2 mimetypes
multiprocessing optparse pathlib pickle pkgutil platform pprint profile reprlib sched secrets
select selectors shelve shlex shutil signal socket sqlite3 stat stringprep subprocess symtable
sysconfig tarfile tempfile threading timeit token tokenize traceback tracemalloc unittest
unittest.mock urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom
xml.etree.ElementTree xmlrpc.client zipfile zlib zoneinfo
""")
"""Loaded before the fork where files cannot be opened afterwards; nothing else can be imported."""

THIRD_PARTY = ("numpy", "scipy", "sympy", "mpmath")
"""Packages of the environment that a program may import, where they are installed."""


class PackageFinder:
    """Finds a few top-level packages at their known places, without listing site packages."""

    def __init__(self, packages: dict[str, str]) -> None:
        self._packages = packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the import system asks (``importlib.abc.MetaPathFinder``)."""
        del target
        folder = self._packages.get(name)
        if folder is None or path is not None:
            return None
        file = f"{folder}/__init__.py"
        spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file, is_package=True)
        spec.submodule_search_locations = [folder]
        spec.has_location = True
        return spec


def find_packages(folders: list[str]) -> dict[str, str]:
    """Those of ``THIRD_PARTY`` that lie in one of the folders, with their directories."""
    return {
        name: f"{folder}/{name}"
        for name in THIRD_PARTY
        for folder in folders
        if os.path.isfile(f"{folder}/{name}/__init__.py")
    }


def prepare(packages: dict[str, str], *, wide: bool) -> list[str]:
    """Set up imports and load what is loaded beforehand.

    Returns:
        The names of the preloaded modules.
    """
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    sys.meta_path.append(PackageFinder(packages))
    names = PRELOADED + ([*WIDE, *packages, "numpy.random"] if wide else [])
    with _no_fork_hooks():
        return [name for name in names if _load(name)]


@contextlib.contextmanager
def _no_fork_hooks() -> Iterator[None]:
    """Keep modules from registering what to do after a fork.

    The zygote has one thread and holds no locks, so there is nothing to mend; and ``random`` would
    give each child a seed of its own, which programs must not have.
    """
    original = os.register_at_fork
    os.register_at_fork = lambda **_: None
    try:
        yield
    finally:
        os.register_at_fork = original


def _load(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:  # an optional part of the standard library, left out of this build
        return False
    return True


def python_tree(packages: dict[str, str]) -> tuple[list[str], list[str]]:
    """Paths that imports need: those to read, and those to list only.

    A directory of site packages within the standard library's is left out: its names can be
    listed, its files cannot be read.
    """
    stdlib = os.path.dirname(os.__file__)
    readable = [
        f"{stdlib}/{name}"
        for name in os.listdir(stdlib)
        if name not in ("site-packages", "dist-packages")
    ]
    readable += [folder for path in packages.values() for folder in (path, f"{path}.libs")]
    readable += _library_folders()
    readable += ["/etc/ld.so.cache", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom"]
    return readable, [stdlib]


def _library_folders() -> list[str]:
    """Directories of the shared libraries in use, and the system's own."""
    folders = {"/lib64", "/usr/lib64"}
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip().partition("/")[2]
            if ".so" in path:
                folders.add(os.path.dirname("/" + path))
    stdlib = os.path.dirname(os.__file__)
    return sorted(f for f in folders if not f.startswith(stdlib) and "-packages" not in f)
