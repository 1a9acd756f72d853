"""Stored sites as the lab reads them: WARC, WACZ and folders of HTML, one pass in stored order."""

from linkscore_lab.archives.archive import Archive, open_archive
from linkscore_lab.archives.record import ArchiveRecord, Damage
from linkscore_lab.archives.warc import write_warc

__all__ = ["Archive", "ArchiveRecord", "Damage", "open_archive", "write_warc"]
