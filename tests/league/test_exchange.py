"""Ledgers to other programs' files and back: the same matches, once; a bad row is named and nothing is added."""

import json

import polars
import pytest

from sparring.core import InputError
from sparring.league.exchange import Imported, export_matches, import_matches
from sparring.league.ledger import Ledger, Seat
from tests.league.support import match

TEAMS = tuple(Seat(name=name, checkpoint="ab" * 32, style="simulations=4", team=at // 2, outcome=0.0)
              for at, name in enumerate(["a", 'b "x", y', "c\nd", "ü"]))  # fmt: skip
MATCHES = [match(1), match(2, settings={"size": 3, "deep": {"x": [1, None]}}, opening="a,b"), match(3, seats=TEAMS)]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "a.ledger", create=True) as opened:
        opened.add(MATCHES)
        yield opened


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_what_is_exported_is_imported_once(ledger, tmp_path, ending):
    file = tmp_path / f"out.{ending}"
    assert export_matches(ledger, file) == 3
    with Ledger(tmp_path / "b.ledger", create=True) as other:
        assert import_matches(other.path, file) == Imported(added=3, known=0)
        assert import_matches(other.path, file) == Imported(added=0, known=3)
        assert list(other.matches()) == MATCHES
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_an_empty_ledger_can_be_exported(tmp_path, ending):
    with Ledger(tmp_path / "a.ledger", create=True) as ledger:
        assert export_matches(ledger, tmp_path / f"out.{ending}") == 0
        assert import_matches(ledger.path, tmp_path / f"out.{ending}") == Imported(0, 0)


def test_other_programs_read_what_is_exported(ledger, tmp_path):
    export_matches(ledger, tmp_path / "out.parquet")
    table = polars.read_parquet(tmp_path / "out.parquet")
    assert table["name_0"].to_list() == ["ann", "ann", "a"]
    assert table["outcome_1"].to_list() == [-1.0, -1.0, 0.0]
    assert table["name_3"].to_list() == [None, None, "ü"]


def test_a_short_table_will_do(tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("id,game,name_0,team_0,outcome_0,name_1,team_1,outcome_1\n1,chess,ann,0,1,ben,1,-1\n")
    with Ledger(tmp_path / "a.ledger", create=True) as ledger:
        assert import_matches(ledger.path, file).added == 1
        (kept,) = ledger.matches()
    assert (kept.game, [seat.name for seat in kept.seats], kept.settings) == ("chess", ["ann", "ben"], {})


HEAD = "id,game,settings,name_0,team_0,outcome_0,name_1,team_1,outcome_1\n"
GOOD = "1,hex,{},a,0,1,b,1,-1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            HEAD + GOOD + "2,hex,{},a,0,3,b,1,-1\n",
            r"in.csv, row 2: match: seats\[0\].outcome = 3.0: allowed: a number, -1 to 1$",
        ),
        (HEAD + GOOD + "2,hex,{},a,0,x,b,1,-1\n", r"row 2: outcome_0 = 'x': not a number"),
        (HEAD + GOOD + "2,hex,{,a,0,1,b,1,-1\n", r"row 2: settings = '{': not JSON"),
        (HEAD + GOOD + "2,hex,[],a,0,1,b,1,-1\n", r"row 2: .*settings"),
        (HEAD + GOOD + "2,hex,{},a,0,1,b,1,-1,9\n", r"row 2: more cells than columns"),
        (HEAD + GOOD + "2,hex,{},a\n", r"row 2: .*seats"),
        (HEAD + GOOD + GOOD, r"row 2: match '1' comes twice"),
        (HEAD + GOOD + "2,hex,{},,,,b,1,-1\n", r"row 2: seats 1 are filled"),
        (HEAD.replace("name_0", "nme_0") + GOOD, r"unknown column 'nme_0' \(did you mean 'name_0'\?\)"),
        (HEAD + GOOD + '2,hex,"', r"not a .csv file"),
        ("\x00\xff", r"unknown column"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_added(tmp_path, text, words):
    file = tmp_path / "in.csv"
    file.write_text(text)
    with Ledger(tmp_path / "a.ledger", create=True) as ledger:
        with pytest.raises(InputError, match=words):
            import_matches(ledger.path, file)
        assert len(ledger) == 0


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("in.jsonl", b"{}\n", "row 1: .*id"),
        ("in.jsonl", b"{", "row 1"),
        ("in.jsonl", b"\xff\xfe\n", "row 1"),
        ("in.csv", b"\xff\xfe", "not a .csv file"),
        ("in.parquet", b"PAR1", "not a .parquet file"),
        ("in.arrow", b"nothing", "not a .arrow file"),
        ("in.txt", b"", "allowed: .csv, .jsonl, .parquet, .arrow"),
    ],
)
def test_a_file_that_is_none_is_said(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with Ledger(tmp_path / "a.ledger", create=True) as ledger, pytest.raises(InputError, match=words):
        import_matches(ledger.path, tmp_path / name)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with Ledger(tmp_path / "a.ledger", create=True) as ledger:
        for name in ("in.csv", "in.jsonl", "in.parquet", "in.arrow"):
            with pytest.raises(InputError, match="cannot read"):
                import_matches(ledger.path, tmp_path / name)


def test_a_match_that_is_there_with_other_values_is_refused(ledger, tmp_path):
    file = tmp_path / "out.jsonl"
    export_matches(ledger, file)
    first, *rest = map(json.loads, file.read_text().splitlines())
    first["seats"][0]["outcome"], first["seats"][1]["outcome"] = -1.0, 1.0
    file.write_text("".join(json.dumps(line) + "\n" for line in [{**rest[0], "id": "new"}, first]))
    with pytest.raises(InputError, match=r"row 2: match 'm1' is in .*a.ledger with other values"):
        import_matches(ledger.path, file)
    assert len(ledger) == 3
