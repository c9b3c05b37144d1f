"""Uploads as browsers send them: fields and one CSV file, read piece by piece and never stored on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from tacit.privacy.errors import InvalidInput
from tacit.server.multipart import Take, read_parts

__all__ = ["Upload", "read_upload"]

_FIELD_BYTES, _FIELDS = 4096, 20


@dataclass(slots=True)
class Upload:
    """The small fields of a form; the file went to its reader."""

    fields: dict[str, str] = field(default_factory=dict)
    files: int = 0


async def read_upload(
    stream: AsyncIterator[bytes], *, content_type: str, feed: Callable[[bytes], None], file: str = "file"
) -> Upload:
    r"""Read a multipart form: pieces of the file go to ``feed`` as they come, small fields are returned.

    A file's own name is not looked at. Fields are limited in size and number, and other files are refused.

    Examples
    --------
    >>> import asyncio
    >>> async def body():
    ...     yield b'--x\r\nContent-Disposition: form-data; name="mark"\r\n\r\n1\r\n--x\r\n'
    ...     yield b'Content-Disposition: form-data; name="file"; filename="../a"\r\n\r\nid,p\n\r\n--x--\r\n'
    >>> pieces = []
    >>> upload = asyncio.run(read_upload(body(), content_type="multipart/form-data; boundary=x", feed=pieces.append))
    >>> upload.fields, b"".join(pieces)
    ({'mark': '1'}, b'id,p\n')
    """
    upload = Upload()

    def open_part(name: str, is_file: bool) -> Take:
        upload.files += name == file
        if upload.files > 1 or len(upload.fields) >= _FIELDS or (is_file and name != file):
            raise InvalidInput(f"an upload must have one file, in the field {file}, and few other fields")
        if name == file:
            return feed
        content = b""

        def take(piece: bytes) -> None:
            nonlocal content
            content += piece
            if len(content) > _FIELD_BYTES:
                raise InvalidInput(f"a field of an upload must have at most {_FIELD_BYTES} bytes")
            upload.fields[name] = content.decode("utf-8", errors="replace")

        take(b"")
        return take

    await read_parts(stream, content_type=content_type, open_part=open_part)
    return upload
