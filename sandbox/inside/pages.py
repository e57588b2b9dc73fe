"""Arranging the zygote's memory so that a child touches few of its pages.

An interpreter that has imported much is full of small holes. A child's first allocations would
fall into them, each on a page that it shares with the zygote and so has to copy. Filling the holes
once lets a child allocate from whole free pools, side by side.
"""

_POOL = 16 * 1024
_POOL_HEADER = 48
_BYTES_OVERHEAD = b"".__sizeof__()
_SMALL, _STEP = 512, 16
_LARGE = 32 * 1024

_kept: list[bytes] = []


def fill_holes() -> None:
    """Fill the free blocks of pymalloc's used pools, then those of the C heap.

    A block of a fresh pool is told by its address, the first one after the pool's header; a chunk
    at the end of the C heap by lying beyond a large chunk allocated just before.
    """
    for size in range(3 * _STEP, _SMALL + 1, _STEP):
        while id(block := bytes(size - _BYTES_OVERHEAD)) % _POOL != _POOL_HEADER:
            _kept.append(block)
    top = bytes(4 * _LARGE - 64 * 1024)
    size = _LARGE
    while size > _SMALL:
        while id(chunk := bytes(size - _BYTES_OVERHEAD)) < id(top):
            _kept.append(chunk)
        size = size * 3 // 4 // _STEP * _STEP
