"""How much a live server may ask of us before it is a fault: every limit in one place, with its default."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What lies beyond a limit is left out and counted, or ends the one battle, or the one server, that it concerns."""

    message: int = 2**22
    """Characters of one message; one that is longer ends its battle. The socket takes four bytes a character."""
    line: int = 4_000
    """Characters of a line of a battle's log; longer ones are left out. Requests are lines of their own kind."""
    log: int = 50_000
    """Lines of one battle."""
    requests: int = 5_000
    """Times one battle may ask us; Showdown ends a battle after turn 1,000."""
    silence: float = 600.0
    """Seconds that a battle which waits for others may take until it asks us again."""
    rooms: int = 2
    """Battles at the same time that a server may begin without our having asked for them; others are left at once."""
    failures: int = 100
    """Battles of a server that may fail in a row; then the server is given up."""
    queue: int = 1_000
    """Messages that may wait to be sent, choices not counted; those beyond are dropped."""
    logs: int = 20
    """Logs of refused choices and failed battles that one run keeps."""
