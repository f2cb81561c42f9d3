"""Text from outside, made fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """``text`` with a question mark for each character that a terminal would obey and not show.

    Names of files, lines of logs, recordings and answers of an adapter may hold anything.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def shortened(text: str, most: int = 400) -> str:
    """The first ``most`` characters of ``text``."""
    return text if len(text) <= most else f"{text[:most]} ..."
