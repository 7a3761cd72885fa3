"""Drives tests/games/pokemon/oracle.js: one real Showdown battle that judges choice strings."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any


class Oracle:
    """A Node process with one battle. Use as a context manager."""

    def __init__(self, simulator: Path, node: str = "node") -> None:
        self._process = subprocess.Popen(
            [node, str(Path(__file__).with_name("oracle.js"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_PATH": str(simulator / "node_modules")},
        )

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def ask(self, command: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the oracle died"
        answer = json.loads(line)
        assert not (isinstance(answer, dict) and "crash" in answer), answer["crash"]
        return answer

    def start(self, format_id: str, seed: int, teams: list[str] | None = None, setup: str | None = None) -> Any:
        numbers = [seed, seed + 1, seed + 2, seed + 3]
        return self.ask({"start": {"formatid": format_id, "seed": numbers, "teams": teams, "setup": setup}})

    def teams(self, format_id: str, seed: int) -> list[str]:
        """Two packed teams of a random format."""
        packed: list[str] = self.ask({"teams": [format_id, seed]})
        return packed

    def judge(self, side: int, choices: list[str]) -> list[tuple[str, str]]:
        """(verdict, what Showdown understood) of each choice; the battle stays as it was."""
        return [(verdict, canonical) for verdict, canonical in self.ask({"try": [side, choices]})]

    def choose(self, left: str | None, right: str | None) -> Any:
        return self.ask({"choose": [left, right]})

    def run(self, script: str) -> Any:
        """Runs JavaScript on the battle (`battle`, `state` in scope) and returns its value."""
        return self.ask({"run": script})
