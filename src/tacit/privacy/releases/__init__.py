"""Releases: a header and members, read and written the same way on every surface."""

from tacit.privacy.releases.header import Header
from tacit.privacy.releases.members import DocumentMember, Member, TableMember
from tacit.privacy.releases.release import Release

__all__ = ["DocumentMember", "Header", "Member", "Release", "TableMember"]
