"""Tests of `bigbatch price` and its units."""

import json

import pytest
import typer

from bigbatch.client import Client
from bigbatch.terminal.units import format_bytes, format_duration, parse_duration, parse_rate, parse_size
from tests.testing.command import Call

ASK = ("price", "--bytes", "16MiB", "--hosts", 2, "--ranks-per-host", 4, "--rate", "200mbit")


def test_price_lists_the_collectives_the_cheapest_first(client: Client, call: Call) -> None:
    reported = call(*ASK)
    heads, *rows = reported.out.splitlines()
    assert heads.split() == ["collective", "rounds", "segments", "busiest", "link", "time", "x", "bound"]
    assert any(row.split()[:3] == ["torus", "rows=2", "8"] for row in rows)
    ratios = [float(row.split()[-1]) for row in rows]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1.02
    auto, summary = reported.err.splitlines()
    assert auto.startswith("auto would choose ")
    assert auto.endswith(" on")
    assert summary == "8 ranks, 16.8 MB; the bound is 671.1 ms"


def test_price_tells_programs_in_json(client: Client, call: Call) -> None:
    answer = json.loads(call(*ASK, "--json").out)
    assert answer["world"] == 8
    assert answer["prices"][0]["times_bound"] < 1.02


def test_price_of_a_gpt_lists_the_meshes_of_all_ranks(client: Client, call: Call) -> None:
    ask = ("price", "--gpt", "width=1024,layers=2,samples=64", *ASK[3:])
    reported = call(*ask)
    heads, *rows = reported.out.splitlines()
    assert heads.split() == ["mesh", "collectives", "sent", "per", "rank", "time"]
    assert [row.split("=")[0].split("ranks")[0].strip() for row in rows] == ["2 x 2 x 2", "8"]
    assert "a forward and a backward pass of one replica on 8 ranks" in reported.err
    found = json.loads(call(*ask, "--json").out)
    assert [one["kind"] for one in found["prices"]] == ["three_d", "one_d"]


def test_price_names_a_size_that_no_gpt_has(call: Call) -> None:
    reported = call("price", "--gpt", "width=1024,depth=2", *ASK[3:])
    assert reported.code == 2
    assert "'depth=2' is not a size of a GPT" in " ".join(reported.err.split())


def test_price_of_kfac_names_when_it_pays(client: Client, call: Call) -> None:
    ask = ("price", "--kfac", "resnet50", *ASK[3:])
    reported = call(*ask)
    assert "products with the inverses" in reported.out
    assert "so it pays where it needs less than" in reported.err
    assert json.loads(call(*ask, "--json").out)["world"] == 8


def test_price_needs_a_size_or_a_net(call: Call) -> None:
    reported = call("price", *ASK[3:])
    assert reported.code == 2
    assert "--bytes 100MB, or a net, --kfac resnet50" in reported.err


def test_price_refuses_what_is_no_size(call: Call) -> None:
    reported = call("price", "--bytes", "much", "--hosts", 2, "--ranks-per-host", 4, "--rate", "1GB/s")
    assert reported.code == 2
    assert "'much' is not a size" in reported.err


def test_price_names_the_sum_that_is_too_large(client: Client, call: Call) -> None:
    reported = call("price", "--bytes", "1MB", "--hosts", 4096, "--ranks-per-host", 2, "--rate", "1GB/s")
    assert reported.code == 2
    assert "4096 x 2 = 8,192 ranks, more than the limit of 4,096" in reported.err


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4096", 4096),
        ("100MB", 1e8),
        ("16MiB", 16 << 20),
        ("1.5 kB", 1500),
        ("1e3", 1000),
        ("8Mbit", 1e6),
        ("2tb", 2e12),
    ],
)
def test_sizes_are_read(text: str, amount: float) -> None:
    assert parse_size(text) == amount


def test_rates_and_times_are_read() -> None:
    assert [parse_rate(text) for text in ("10GB/s", "200mbit", "200Mbit/s", "1e9")] == [1e10, 25e6, 25e6, 1e9]
    assert [parse_duration(text) for text in ("20us", "1.5 ms", "2s")] == pytest.approx([20e-6, 1.5e-3, 2])
    for read, wrong in ((parse_rate, "fast"), (parse_duration, "20"), (parse_size, "-1MB"), (parse_size, "")):
        with pytest.raises(typer.BadParameter, match="is no"):
            read(wrong)


def test_amounts_are_told_with_their_units() -> None:
    assert [format_bytes(n) for n in (0, 512, 16 << 20, 2.5e12)] == ["0 B", "512 B", "16.8 MB", "2.5 TB"]
    assert [format_duration(s) for s in (0, 3e-7, 0.6711, 12, 40000)] == [
        "0 ns",
        "300 ns",
        "671.1 ms",
        "12 s",
        "40,000 s",
    ]
