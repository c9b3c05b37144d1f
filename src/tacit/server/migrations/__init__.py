"""The server's schema through time; Alembic runs the files in ``versions``."""

__all__: list[str] = []
