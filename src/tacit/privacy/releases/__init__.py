"""Releases: a header and members, read and written the same way on every surface."""

from tacit.privacy.releases.header import ReleaseHeader
from tacit.privacy.releases.members import DocumentMember, ReleaseMember, TableMember
from tacit.privacy.releases.release import Release

__all__ = ["DocumentMember", "Release", "ReleaseHeader", "ReleaseMember", "TableMember"]
