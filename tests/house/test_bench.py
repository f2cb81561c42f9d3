"""``kraftcheck bench`` runs and reports every figure. Nothing here depends on how fast the machine is."""

import json

import pytest

from kraftcheck.cli.main import main
from tests.tlc.tools import tools

FIGURES = {
    "engine_1", "engine_2", "filled_1", "filled_2", "reference",
    "engine_1_to_reference", "engine_2_to_reference", "filled_1_to_reference", "filled_2_to_reference",
    "two_to_one_cold", "two_to_one", "partial_order_factor", "symmetry_factor", "symmetry_cost",
    "walks_1", "walks_2", "two_to_one_walks",
    "engine_states", "reference_states", "engine_calls", "reference_calls", "visited_bytes", "resident_bytes",
    "lockstep_simulated",
    "logs_trace_plain", "logs_trace_gzip", "logs_debug_plain", "logs_debug_gzip",
    "logs_info_plain", "logs_info_gzip",
    "logs_controller_plain", "logs_controller_gzip",
}  # fmt: skip
MACHINE = {"cores", "load", "processor", "memory", "system", "python", "numba", "numpy"}


@pytest.mark.slow
def test_every_figure_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["figures"]) == FIGURES
    assert set(report["machine"]) == MACHINE
    for figure in report["figures"].values():
        assert figure["label"] and figure["unit"] and figure["value"] >= 0


@pytest.mark.slow
def test_the_text_has_a_line_for_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "three-voters-elect", "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = [line for line in lines[1:] if not line.startswith("  ")]
    assert [line.split(":")[0] for line in headings] == ["engine", "lockstep", "logs"]
    assert len(lines) == 1 + len(headings) + len(FIGURES)


def test_one_part_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--only", "logs", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {key.split("_")[0] for key in report["figures"]} == {"logs"}


def test_an_unknown_scenario_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "no-such-scenario", "--quick"]) == 2
    assert "no-such-scenario" in capsys.readouterr().err


@pytest.mark.slow
def test_the_engine_beside_tlc(capsys: pytest.CaptureFixture[str]) -> None:
    tools()
    assert main(["bench", "--quick", "--only", "tlc", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["figures"]) == {
        "tlc_states", "tlc_start", "tlc_seconds", "tlc_2", "beside_tlc_2", "beside_tlc_filled_2",
        "engine_2_to_tlc_2", "filled_2_to_tlc_2", "tlc_to_engine_processor",
    }  # fmt: skip
    assert report["figures"]["tlc_states"]["value"] == 495
