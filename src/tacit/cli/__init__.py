"""The ``tacit`` command: parse, call, print; one module per surface."""

from tacit.cli.app import main

__all__ = ["main"]
