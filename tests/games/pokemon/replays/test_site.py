"""Showdown's replay search, spoken by a local server: pages, manners, faults, going on."""

import json
import signal
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from time import monotonic, sleep

import pytest

from sparring.core import InputError, RunError
from sparring.core.replays import Filters
from sparring.games.pokemon.replays import site as sites
from sparring.games.pokemon.replays.download import download
from sparring.games.pokemon.replays.site import ReplaySite
from tests.commands import one_line
from tests.games.pokemon.replays.data_sets import BARE, kept
from tests.games.pokemon.replays.sites import Showdown, serving
from tests.warm import Process, run

NOW = 1_700_000_000


def records(count, *, format="gen9ou", first=0, time=lambda n: NOW + n, rating=lambda n: 1000 + n):
    return [
        {
            "id": f"{format}-{n}",
            "format": "[Gen 9] OU",
            "formatid": format,
            "players": ["Ann", "Bob"],
            "log": f"{BARE}\n|c|Ann|{n}",
            "uploadtime": time(n),
            "rating": rating(n),
        }
        for n in range(first, first + count)
    ]


@pytest.fixture
def showdown():
    server = Showdown(records(120))
    with serving(server.answer) as url:
        server.url = url
        yield server


def fetch(server, output, *, formats=("gen9ou",), min_elo=0.0, since=0, delay=0.0, workers=1, **options):
    source = ReplaySite(formats, url=server.url, delay=delay, workers=workers)
    server.requests.clear()
    filters = Filters(formats=formats, min_rating=min_elo, since=since)
    return download(source, output, filters=filters, **options)


def test_every_page_is_read_newest_first(showdown, tmp_path):
    report = fetch(showdown, tmp_path)
    assert (report.new, report.there) == (120, 120)
    assert set(kept(tmp_path)) == set(showdown.replays)
    assert list(dict.fromkeys(showdown.fetched)) == [f"gen9ou-{n}" for n in reversed(range(120))]
    assert len(showdown.fetched) == 120
    assert showdown.searches == [None, str(NOW + 70), str(NOW + 20)]
    assert all(agent.startswith("sparring/") for *_, agent in showdown.requests)


@pytest.mark.parametrize("count", [0, 1, 50, 51, 52, 102])
def test_the_last_page_is_known_by_its_length(count, showdown, tmp_path):
    showdown.replays = {record["id"]: record for record in records(count)}
    assert fetch(showdown, tmp_path).there == count


def test_battles_of_the_same_second_are_not_lost_between_pages(showdown, tmp_path):
    showdown.replays = {record["id"]: record for record in records(130, time=lambda n: NOW + n // 40)}
    assert fetch(showdown, tmp_path).there == 130


def test_more_battles_in_one_second_than_a_page_holds_do_not_stop_it(showdown, tmp_path):
    showdown.replays = {record["id"]: record for record in records(130, time=lambda n: NOW + n // 60)}
    assert fetch(showdown, tmp_path).there == 51 + 51 + 10
    assert len(showdown.searches) < 10


def test_several_formats(showdown, tmp_path):
    showdown.replays |= {record["id"]: record for record in records(60, format="gen1ou")}
    assert fetch(showdown, tmp_path, formats=("gen1ou", "gen9ou")).by_format == {"gen1ou": 60, "gen9ou": 120}


def test_a_second_run_fetches_only_what_is_new_and_searches_no_further_than_that(showdown, tmp_path):
    fetch(showdown, tmp_path)
    assert fetch(showdown, tmp_path).new == 0
    assert showdown.fetched == []
    assert len(showdown.searches) == 1
    showdown.replays |= {record["id"]: record for record in records(60, first=120)}
    assert fetch(showdown, tmp_path).new == 60
    assert len(showdown.fetched) == 60
    assert len(showdown.searches) == 2
    assert len(kept(tmp_path)) == 180


def test_stopped_anywhere_the_next_run_goes_on_where_it_was(showdown, tmp_path):
    for step in range(1, 7):
        seen = []
        stopped = lambda seen=seen: bool(seen and seen[-1].new == 20)  # noqa: E731
        report = fetch(showdown, tmp_path, on_progress=seen.append, stopped=stopped)
        assert report.new == 20
        assert report.there == 20 * step
        assert len(showdown.fetched) == 20
        assert len(showdown.searches) <= 3
    assert len(kept(tmp_path)) == 120


def test_new_battles_while_the_old_ones_are_not_all_there(showdown, tmp_path):
    fetch(showdown, tmp_path, most=60)
    showdown.replays |= {record["id"]: record for record in records(200, first=120)}
    fetch(showdown, tmp_path, most=130)
    assert fetch(showdown, tmp_path).there == 320
    assert len(kept(tmp_path)) == 320
    fetch(showdown, tmp_path)
    assert (showdown.fetched, len(showdown.searches)) == ([], 1)


def test_ratings_and_dates_are_looked_at_before_anything_is_fetched(showdown, tmp_path):
    report = fetch(showdown, tmp_path / "a", min_elo=1100)
    assert (report.there, report.rejected) == (20, {"filtered: rating": 100})
    assert len(showdown.fetched) == 20
    report = fetch(showdown, tmp_path / "b", since=NOW + 110)
    assert report.there == 10
    assert (len(showdown.fetched), len(showdown.searches)) == (10, 1)


def test_max_games(showdown, tmp_path):
    assert fetch(showdown, tmp_path, most=7).there == 7
    assert len(showdown.fetched) == 7
    assert fetch(showdown, tmp_path, most=7).there == 7
    assert showdown.requests == []


def test_requests_keep_their_distance(showdown, tmp_path):
    fetch(showdown, tmp_path, delay=0.1, most=5)
    times = [time for time, *_ in showdown.requests]
    assert len(times) == 6
    assert times[-1] - times[0] > 0.8 * 0.1 * 5  # on a busy machine one may be noted late


def test_requests_of_all_workers_together_keep_their_distance(showdown, tmp_path):
    fetch(showdown, tmp_path, delay=0.05, most=12, workers=6)
    times = [time for time, *_ in showdown.requests]
    assert len(times) >= 13
    assert times[-1] - times[0] > 0.8 * 0.05 * (len(times) - 1)  # on a busy machine one may be noted late


def test_workers_fetch_the_same_while_a_slow_site_answers(showdown, tmp_path):
    showdown.seconds = 0.05
    started = monotonic()
    report = fetch(showdown, tmp_path / "many", workers=8)
    together = monotonic() - started
    assert (report.new, report.there) == (120, 120)
    assert len(showdown.fetched) == len(set(showdown.fetched)) == 120
    assert together < 120 * 0.05
    assert set(kept(tmp_path / "many")) == set(showdown.replays)


def test_a_site_that_asks_one_worker_for_patience_is_left_alone_by_all(showdown, tmp_path):
    showdown.faults["gen9ou-110.json"] = [(429, {"Retry-After": "1"}, b"slow down")]
    fetch(showdown, tmp_path, delay=0.02, most=40, workers=4)
    times = [time for time, *_ in showdown.requests]
    gaps = sorted((after - before for before, after in pairwise(times)), reverse=True)
    assert gaps[0] > 0.9
    assert gaps[1] < 0.5


def test_stopped_with_several_workers_the_next_run_goes_on_with_nothing_twice(showdown, tmp_path):
    for stop in (3, 20, 57, 10_000):
        seen = []
        stopped = lambda seen=seen, stop=stop: len(seen) >= stop  # noqa: E731
        fetch(showdown, tmp_path, workers=5, on_progress=seen.append, stopped=stopped)
    assert sorted(kept(tmp_path)) == sorted(showdown.replays)


def waits(source):
    """The pauses that `source` makes while it finds its replays."""
    pauses = []
    found = list(source.find(sites.Wanted(Filters(formats=("gen9ou",)), lambda id: False, pauses.append)))
    return [round(pause) for pause in pauses if pause > 0.5], found


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("when", ["7", "date"])
def test_it_waits_as_long_as_the_site_asks(status, when, showdown):
    after = when if when == "7" else format_datetime(datetime.now(UTC) + timedelta(seconds=8), usegmt=True)
    showdown.faults["search.json"] = [(status, {"Retry-After": after}, b"slow down")]
    pauses, found = waits(ReplaySite(["gen9ou"], url=showdown.url, delay=0.0))
    assert pauses in ([7], [8])
    assert len(found) == 120


def test_it_asks_again_ever_later_if_the_site_cannot_answer(showdown):
    showdown.faults["gen9ou-7.json"] = [(500, {}, b"oops"), (502, {}, b""), (200, {}, b"<html>not json</html>")]
    pauses, found = waits(ReplaySite(["gen9ou"], url=showdown.url, delay=1.0))
    assert [pause for pause in pauses if pause != 1] == [2, 4]
    assert "gen9ou-7" in {replay.id for replay in found}


def test_a_replay_that_is_gone_or_broken_is_left_out_with_a_reason(showdown, tmp_path, monkeypatch):
    monkeypatch.setattr(sites, "TRIES", 2)
    showdown.faults = {
        "gen9ou-7.json": [(404, {}, b"")],
        "gen9ou-9.json": [(500, {}, b"")] * 2,
        "gen9ou-11.json": [(200, {}, b'{"id": "gen9ou-11"}')],
        "gen9ou-13.json": [(403, {}, b"")],
    }
    report = fetch(showdown, tmp_path)
    assert report.rejected == {"not found": 3, "empty": 1}
    assert report.there == 116
    assert "gen9ou-13.json: 403 Forbidden" in report.examples["not found"]


def test_a_site_that_is_down_ends_the_run_with_what_there_is_and_the_next_goes_on(showdown, tmp_path, monkeypatch):
    monkeypatch.setattr(sites, "TRIES", 2)
    showdown.faults = {f"gen9ou-{n}.json": [(500, {}, b"")] * 2 for n in range(50)}
    with pytest.raises(RunError, match="500 Internal Server Error; the same command goes on"):
        fetch(showdown, tmp_path)
    assert len(kept(tmp_path)) == 70
    showdown.faults = {}
    assert fetch(showdown, tmp_path).there == 120


def test_nobody_there(tmp_path, monkeypatch):
    monkeypatch.setattr(sites, "TRIES", 2)
    with serving(lambda handler: None) as url:
        pass
    source = ReplaySite(["gen9ou"], url=url, delay=0.0)
    with pytest.raises(RunError, match="Connection refused"):
        download(source, tmp_path, filters=Filters(formats=("gen9ou",)))


def test_a_site_that_asks_for_a_day_is_left_alone(showdown):
    showdown.faults["search.json"] = [(429, {"Retry-After": "86400"}, b"")]
    with pytest.raises(RunError, match="asks to wait 86,400 seconds"):
        waits(ReplaySite(["gen9ou"], url=showdown.url))


@pytest.mark.parametrize("answer", [b"{}", b"[1]", b'[{"id": "gen9ou-1"}]', b"null"])
def test_a_search_that_answers_something_else(answer, showdown):
    showdown.faults["search.json"] = [(200, {}, answer)]
    with pytest.raises(RunError, match="is it a replay site"):
        waits(ReplaySite(["gen9ou"], url=showdown.url))


def test_an_id_that_is_a_path_is_never_asked_for(showdown, tmp_path):
    hostile = [
        {**records(1)[0], "id": id} for id in ("../../secret", "a/b", "gen9ou-1?x=1", "", "x" * 1000, "gen9ou-5")
    ]
    showdown.search = lambda query: hostile
    report = fetch(showdown, tmp_path)
    assert showdown.fetched == ["gen9ou-5"]
    assert report.rejected == {"not found": 5}


def test_an_answer_that_never_ends_is_not_read_to_its_end(showdown, tmp_path, monkeypatch):
    monkeypatch.setattr(sites, "MOST_WHOLE_BYTES", 50_000)
    showdown.faults["gen9ou-5.json"] = [(200, {}, b"[" + b" " * 60_000)]
    report = fetch(showdown, tmp_path)
    assert report.rejected == {"not found": 1}
    assert report.there == 119


@pytest.mark.parametrize("url", ["file:///etc/passwd", "replay.pokemonshowdown.com", "https://", ""])
def test_an_address_that_is_none(url):
    with pytest.raises(InputError, match="allowed: http:// or https://"):
        ReplaySite(["gen9ou"], url=url)


def test_ctrl_c_in_a_long_pause_ends_it_and_the_command_goes_on(showdown, tmp_path):
    showdown.faults["gen9ou-100.json"] = [(429, {"Retry-After": "600"}, b"")]
    command = ["replays", "download", "showdown", "--format", "[Gen 9] OU", "--output", tmp_path]
    command += ["--url", showdown.url, "--delay", "0"]
    process = Process(*command)
    deadline = monotonic() + 60
    while "gen9ou-100" not in showdown.fetched and monotonic() < deadline:
        sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "stopping" in errors
    assert len(kept(tmp_path)) == 19
    done = run(*command, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["new"] == 101
    assert len(kept(tmp_path)) == 120


def test_a_failed_run_is_one_line_and_exit_code_1(showdown, tmp_path):
    showdown.faults["search.json"] = [(403, {}, b"")]
    command = ["replays", "download", "showdown", "--format", "gen9ou", "--output", tmp_path]
    done = run(*command, "--url", showdown.url)
    assert done.returncode == 1
    one_line(done.stderr, "403 Forbidden", "search.json?format=gen9ou")
