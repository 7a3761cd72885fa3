"""The project's own benchmarks: the docs say what the stored figures say, figures are kept as they are printed."""

import json
import shutil

import pytest

from sparring.bench import suite
from sparring.bench.suite import FIGURES, PAGES, TABLES, Figures, benchmark_names, checkout, rendered_pages, run_suite
from sparring.core import InputError, RunError

ROOT = checkout()
FIGURE = {"benchmark": "tiny", "figure": "speed", "value": 1234.5, "unit": "1/s", "machine": "2 cores"}


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_of_the_docs_are_those_of_the_stored_figures(page):
    assert rendered_pages(ROOT)[ROOT / page] == (ROOT / page).read_text(), "run: sparring bench render"
    assert "<!-- figures:" in (ROOT / page).read_text()


def test_every_stored_figure_names_its_machine_and_every_template_is_shown():
    for line in map(json.loads, (ROOT / "benchmarks" / FIGURES).read_text().splitlines()):
        assert line["machine"]
        assert line["versions"]
    shown = "".join((ROOT / page).read_text() for page in PAGES)
    for line in (ROOT / "benchmarks" / TABLES).read_text().splitlines():
        if line.startswith("## "):
            assert f"<!-- figures: {line[3:]} -->" in shown


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A checkout with one benchmark and one page of figures."""
    for page in PAGES:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text("before\n<!-- figures: a -->\nold\n<!-- end of figures -->\nafter\n")
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "measure.py", tmp_path / "benchmarks")
    (tmp_path / "benchmarks" / "tiny.py").write_text(
        "import measure\nmeasure.parse(measure.parser(''))\nmeasure.figure('speed', 1.5, '1/s')\n"
    )
    (tmp_path / "benchmarks" / "broken.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "benchmarks" / TABLES).write_text("Words.\n\n## a\n\n| {tiny / speed / value / ,.1f} |\n")
    write_figures(tmp_path, FIGURE)
    monkeypatch.setattr(suite, "checkout", lambda: tmp_path)
    return tmp_path


def write_figures(project, *lines):
    (project / "benchmarks" / FIGURES).write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_rendering_changes_what_is_between_markers_and_nothing_else(project):
    assert suite.render(check=True) == [project / page for page in PAGES]
    assert "old" in (project / PAGES[0]).read_text()
    suite.render(check=False)
    text = (project / PAGES[0]).read_text()
    table = "| 1,234.5 |\n\nMachine: 2 cores.\n"
    assert text == f"before\n<!-- figures: a -->\n{table}<!-- end of figures -->\nafter\n"
    assert suite.render(check=True) == []


def test_rows_of_a_table_that_were_measured_on_different_machines_are_marked(project):
    write_figures(project, FIGURE, {**FIGURE, "figure": "size", "machine": "4 cores"})
    table = "| | |\n|---|---|\n| a | {tiny / speed / value / .0f} |\n| b | {tiny / size / value / .0f} |"
    marked = "| | |\n|---|---|\n| a ¹ | 1234 |\n| b ² | 1234 |\n\nMachine: ¹ 2 cores; ² 4 cores.\n"
    assert suite.filled(table, Figures(project / "benchmarks" / FIGURES)) == marked


def test_of_figures_with_one_name_the_last_counts_or_the_one_beside_what_is_asked_for(project):
    write_figures(
        project, {**FIGURE, "peer": "A", "ratio": 2}, {**FIGURE, "limit": "B", "ratio": 3, "range": [0.1, 0.25]}
    )
    figures = Figures(project / "benchmarks" / FIGURES)
    assert figures.text("tiny / speed / ratio / .1f")[0] == "3.0"
    assert figures.text("tiny / speed @ A / ratio / .1f")[0] == "2.0"
    assert figures.text("tiny / speed / range / .1%") == ("10.0% - 25.0%", "2 cores")


@pytest.mark.parametrize(
    "asked",
    ["tiny / speed / value", "tiny / sped / value / .1f", "tiny / speed / ratio / .1f", "tiny / speed / value / q"],
)
def test_a_template_that_asks_for_what_is_not_there_is_refused(project, asked):
    with pytest.raises(InputError, match="tiny"):
        Figures(project / "benchmarks" / FIGURES).text(asked)


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"figure": "a"}', json.dumps({**FIGURE, "value": "fast"})])
def test_a_line_that_is_no_figure_is_named(project, line):
    (project / "benchmarks" / FIGURES).write_text(line + "\n")
    with pytest.raises(InputError, match="line 1: not a figure"):
        rendered_pages(project)


def test_figures_are_kept_with_their_benchmark_even_if_the_next_one_fails(project):
    output = project / "out.jsonl"
    with pytest.raises(RunError, match="broken ended with code 3"):
        run_suite(["tiny", "broken"], quick=True, output=output, say=lambda text: None)
    (line,) = map(json.loads, output.read_text().splitlines())
    assert (line["benchmark"], line["figure"], line["value"], line["quick"]) == ("tiny", "speed", 1.5, True)
    with pytest.raises(InputError, match="did you mean"):
        run_suite(["tin"], quick=True, output=None, say=lambda text: None)


def test_the_quick_benchmarks_are_there():
    assert set(suite.QUICK) <= set(benchmark_names(ROOT))


def test_an_installed_package_says_that_benchmarks_are_part_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(
        suite.sparring, "__file__", str(tmp_path / "lib" / "site-packages" / "sparring" / "__init__.py")
    )
    with pytest.raises(InputError, match="installed package"):
        checkout()
