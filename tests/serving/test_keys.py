"""Key files: whole or not there, and for nobody else's eyes."""

import errno
import os

import msgspec
import pytest

from sparring.core import InputError
from sparring.serving.keys import make_keys, read_client_key, read_server_key


def test_keys_are_written_for_their_owner_only_and_read_again(tmp_path):
    server, client = make_keys(tmp_path / "keys")
    assert read_server_key(server).clients == [read_client_key(client).public]
    assert {path.stat().st_mode & 0o777 for path in (server, client)} == {0o600}
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


def test_keys_go_beside_what_is_there_and_replace_nothing(tmp_path):
    (tmp_path / "note").write_text("mine")
    server, client = make_keys(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["client.key", "note", "server.key"]
    before = server.read_bytes()
    client.unlink()
    with pytest.raises(InputError, match=r"server\.key exists already"):
        make_keys(tmp_path)
    assert server.read_bytes() == before


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_no_key_and_the_next_call_works(tmp_path, monkeypatch, there):
    folder = tmp_path / "keys"
    if there:
        folder.mkdir()
        (folder / "note").write_text("mine")
    calls = []

    def full(handle):
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot write .*: No space left on device"):
        make_keys(folder)
    assert not list(tmp_path.rglob("*.key"))
    monkeypatch.undo()
    read_server_key(make_keys(folder)[0])


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_refused_with_the_command_to_run(tmp_path, mode):
    for path, read in zip(make_keys(tmp_path / "my keys"), (read_server_key, read_client_key), strict=True):
        path.chmod(mode)
        with pytest.raises(InputError, match="other users can read it; run: chmod 600 '.*my keys.*key'"):
            read(path)
        path.chmod(0o600)
        read(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\xff\xfe",
        b"null",
        msgspec.json.encode({"type": "server", "public": "short", "secret": "x" * 40, "clients": []}),
        msgspec.json.encode({"type": "server", "public": "a" * 40, "secret": "~" * 40, "clients": []}),
        msgspec.json.encode({"type": "server", "public": "a" * 40, "secret": "a" * 40, "clients": ["ä" * 40]}),
    ],
)
def test_a_malformed_key_is_one_clear_line(tmp_path, content):
    path = tmp_path / "server.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match=r"server\.key: not a server key"):
        read_server_key(path)


def test_a_key_that_is_not_there_is_one_clear_line(tmp_path):
    with pytest.raises(InputError, match="cannot read .*: No such file"):
        read_client_key(tmp_path / "absent.key")
    with pytest.raises(InputError, match="cannot read .*: Is a directory"):
        read_client_key(tmp_path)
