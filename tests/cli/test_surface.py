"""What all surfaces' commands share."""

import pytest

from tacit.cli import main


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("bundled:iris", "iris"),
        ("visits 2026-01.csv", "visits_2026-01"),
        ("part*.csv", "part"),
        ("*.csv", "table"),
        ("-", "table"),
        ("s3://bucket/visits.parquet?version=3", "visits"),
        ("postgresql://me@host/clinic#public.visits", "public.visits"),
        ("../elsewhere/", "elsewhere"),
    ],
)
def test_a_release_is_named_after_its_table(table, name, monkeypatch, capsys):
    asked = []

    def protect(_, plan, *, out, **__):
        asked.append(out.name)
        raise KeyboardInterrupt

    monkeypatch.setattr("tacit.labels.protect", protect)
    monkeypatch.setattr("tacit.cli.options.check_source", lambda source: None)
    with pytest.raises(SystemExit):
        main(["labels", "protect", table, "--label", "y", "--epsilon", "1"])
    assert asked == [f"{name}.labels.parquet"], capsys.readouterr().err


def test_a_bundled_table_is_released_under_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["labels", "protect", "bundled:iris", "--label", "species", "--epsilon", "1", "--seed", "0"])
    assert end.value.code == 0
    assert (tmp_path / "iris.labels.parquet").exists()
