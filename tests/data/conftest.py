import pytest

from tests.data.replays import record, write


@pytest.fixture
def battles(tmp_path):
    """300 battles of two formats."""
    return write(tmp_path / "in/battles.jsonl", (record(n, kind="doubles" if n % 3 else "singles") for n in range(300)))
