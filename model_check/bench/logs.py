"""The speed of ``kraftcheck logs`` on made-up log text of four kinds, plain and compressed.

The text is made by ``tests/laboratory/logs/texts.py``, which says what the kinds are.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from statistics import median
from time import process_time

from kraftcheck.bench.laboratory import laboratory
from kraftcheck.bench.measure import Figure
from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.support.files import TemporaryFolder


def figures(size: int = 16_000_000, rounds: int = 3, seed: int = 1) -> list[Figure]:
    """Reading speeds in MB of text a second of processor time, which other work on the machine bends little:
    medians over ``rounds`` readings of ``size`` bytes a kind. Raises InputError outside a checkout.
    """
    found: list[Figure] = []
    with TemporaryFolder() as folder:
        for kind, text in laboratory("logs.texts").texts(size, seed):
            plain, packed = Path(folder, f"{kind}.log"), Path(folder, f"{kind}.log.gz")
            plain.write_bytes(text)
            packed.write_bytes(gzip.compress(text, compresslevel=6))
            if not found:
                _speed(plain)  # loads the specification
            for name, path in (("plain", plain), ("gzip", packed)):
                speed = median(_speed(path) for _ in range(rounds))
                found.append(Figure(f"logs_{kind}_{name}", f"logs, {kind}, {name}", speed, "MB/s"))
    return found


def _speed(path: Path) -> float:
    begun = process_time()
    report = read_logs([path], Options())
    seconds = process_time() - begun
    assert not report.findings.problems
    return report.bytes / 1e6 / seconds
