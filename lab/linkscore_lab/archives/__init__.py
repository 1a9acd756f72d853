"""Stored sites as the replay lab reads them: WARC, WACZ and folders of HTML, one pass in stored order."""

from linkscore_lab.archives.archive import Archive, open_archive
from linkscore_lab.archives.record import ArchiveRecord, Damage

__all__ = ["Archive", "ArchiveRecord", "Damage", "open_archive"]
