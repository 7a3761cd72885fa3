"""The progress of reading and downloading replays, and the results."""

from rich.table import Table
from rich.text import Text

from sparring.core.replays import DownloadReport, ImportReport
from sparring.core.text import printable
from sparring.report.progress import ProgressLine
from sparring.report.tables import plain_table

_NOT_YET = 0.999
"""The input may have been read to its end, but the work is not done."""


class ImportLine(ProgressLine):
    """The progress of reading replays."""

    def __init__(self) -> None:
        super().__init__("reading", total=1.0)

    def show(self, report: ImportReport) -> None:
        """Shows how far it is."""
        rejected = sum(report.rejected.values())
        rate = report.accepted / self.seconds
        self.update(min(report.share, _NOT_YET), f"{report.accepted:,} read, {rejected:,} not  {rate:,.0f} a second")


def import_table(report: ImportReport) -> Table:
    """What became of the battles, one line per kind."""
    table = plain_table("battles", "which", "number", right=["number"])
    for format, count in sorted(report.by_format.items()):
        table.add_row("read", Text(format), f"{count:,}")
    for what, count in (("read before", report.already), ("found twice", report.duplicates)):
        if count:
            table.add_row(what, "", f"{count:,}")
    for reason, count in report.rejected.most_common():
        table.add_row("not read", Text(reason), f"{count:,}")
    table.add_row("episodes", "", f"{report.episodes:,}")
    table.add_row("decisions", "", f"{report.rows:,}")
    for oddity, count in report.odd.most_common(8):
        table.add_row("odd", Text(printable(oddity)), f"{count:,}")
    return table


class DownloadLine(ProgressLine):
    """The progress of downloading replays."""

    def __init__(self) -> None:
        super().__init__("downloading", total=1.0)

    def show(self, report: DownloadReport) -> None:
        """Shows how far it is."""
        rate, left_out = report.new / self.seconds, sum(report.rejected.values())
        detail = f"{report.new:,} new, {report.already:,} there already, {left_out:,} left out  {rate:,.1f} a second"
        self.update(min(report.share, _NOT_YET), detail)


def download_table(report: DownloadReport) -> Table:
    """What became of the battles, one line per kind."""
    table = plain_table("battles", "which", "number", right=["number"])
    for format, count in sorted(report.by_format.items()):
        table.add_row("new", Text(format), f"{count:,}")
    if report.already:
        table.add_row("there already", "", f"{report.already:,}")
    for reason, count in report.rejected.most_common():
        example = "" if reason.startswith("filtered") else f", such as {report.examples[reason]}"
        table.add_row("left out", Text(printable(f"{reason}{example}")), f"{count:,}")
    table.add_row("in the folder", "", f"{report.there:,}")
    return table
