"""Learn from labels you are not allowed to see, and measure what every release leaks."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("tacit")
