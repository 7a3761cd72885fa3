"""What `sparring doctor` looks at for Pokémon: Node, the simulator, the port of a Showdown server, and servers."""

from collections.abc import Iterator

from sparring.core import InputError, MissingPackage, install_command, optional
from sparring.core.cache import cache_folder
from sparring.core.checkup import Check, CheckUp, check_port
from sparring.core.text import printable
from sparring.games.pokemon.settings import PINNED
from sparring.games.pokemon.setup import find_node, places

SHOWDOWN_PORT = 8000
"""Where `sparring showdown` listens unless it is told otherwise."""
_LOCAL_SECONDS, _REMOTE_SECONDS = 1.0, 10.0


def pokemon_checks(asked: CheckUp) -> Iterator[Check]:
    """Every check, in the order in which the parts are needed."""
    yield _node(asked)
    yield _simulator(asked)
    yield _port()
    for server in asked.servers:
        yield _server(server)


def _node(asked: CheckUp) -> Check:
    try:
        return Check("node", "ok", find_node())
    except InputError as error:
        return asked.lacking("node", _reason(error), install_command("pokemon"))


def _simulator(asked: CheckUp) -> Check:
    folder = cache_folder() / "pokemon"
    found = places(PINNED, node="node")  # where they are does not depend on it
    parts = {"simulator": found.modules, "tables": found.tables, "teams": found.teams}
    missing = [name for name, path in parts.items() if not path.exists()]
    if missing:
        return asked.lacking("simulator", f"no {', '.join(missing)} in {folder}", "sparring setup pokemon")
    return Check("simulator", "ok", f"pokemon-showdown {PINNED}, its tables and teams in {folder}")


def _port() -> Check:
    """A port that a Showdown server has taken is as good as a free one."""
    check = check_port("port", SHOWDOWN_PORT, "sparring showdown")
    if check.status != "ok":
        try:
            _greet(f"ws://127.0.0.1:{SHOWDOWN_PORT}/showdown/websocket", _LOCAL_SECONDS)
        except InputError:
            return check
        return Check(check.name, "ok", f"a Showdown server runs on {SHOWDOWN_PORT}")
    return check


def _server(server: str) -> Check:
    try:
        from sparring.games.pokemon.live.connection import server_address
    except MissingPackage as error:
        return Check("server", "fail", f"{server}: {_reason(error)}", install_command("pokemon"))
    address = server_address(server)
    try:
        _greet(address, _REMOTE_SECONDS)
    except InputError as error:
        return Check("server", "fail", f"{server}: {error}", "sparring showdown")
    return Check("server", "ok", f"{server} is a Showdown server")


def _greet(address: str, seconds: float) -> None:
    """Raises `InputError` unless a Showdown server greets whoever connects to `address`."""
    with optional("asking Showdown servers", extra="pokemon"):
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    try:
        with connect(address, open_timeout=seconds, close_timeout=seconds) as socket:
            greeting = socket.recv(timeout=seconds)
    except (OSError, WebSocketException, EOFError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        raise InputError(f"cannot be reached ({printable(reason, 200)})") from error
    if not str(greeting).startswith("|"):
        raise InputError("answers, but not as a Showdown server does")


def _reason(error: InputError) -> str:
    """What an error says, without the command at its end."""
    return str(error).partition("; run: ")[0]
