"""Learn from labels you are not allowed to see, and measure what every release gives away."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("tacit")
