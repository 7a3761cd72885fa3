"""A machine that claims AMX without having it is noticed before it can end the process."""

import pytest

from sparring.inference import amx

LIMIT = "ONEDNN_MAX_CPU_ISA"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes a machine with the given CPU flags, on which trying a product runs the given Python code."""
    monkeypatch.setenv("SPARRING_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(LIMIT, raising=False)

    def make(flags, tried):
        cpu = tmp_path / "cpuinfo"
        cpu.write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n")
        monkeypatch.setattr(amx, "_TRY", tried)
        return cpu

    yield make
    monkeypatch.delenv(LIMIT, raising=False)


def test_a_product_that_kills_its_process_rules_amx_out(machine):
    amx.avoid_broken_amx(machine("amx_bf16", "import os; os.kill(os.getpid(), 4)"))
    assert amx.os.environ[LIMIT] == "AVX512_CORE_BF16"


def test_amx_that_works_is_left_alone(machine):
    amx.avoid_broken_amx(machine("amx_bf16", "pass"))
    assert LIMIT not in amx.os.environ


def test_a_machine_that_claims_nothing_is_not_tried(machine):
    amx.avoid_broken_amx(machine("avx2", "raise SystemExit(1)"))
    assert LIMIT not in amx.os.environ


def test_the_answer_is_kept(machine):
    amx.avoid_broken_amx(machine("amx_bf16", "pass"))
    amx.avoid_broken_amx(machine("amx_bf16", "raise SystemExit(1)"))
    assert LIMIT not in amx.os.environ


def test_an_answer_that_was_damaged_is_found_anew(machine, tmp_path):
    cpu = machine("amx_bf16", "pass")
    amx.avoid_broken_amx(cpu)
    for content in (b"", b"wor", b"\xff\xfe"):
        next((tmp_path / "cache" / "amx").iterdir()).write_bytes(content)
        amx.avoid_broken_amx(cpu)
        assert LIMIT not in amx.os.environ
