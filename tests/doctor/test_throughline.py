"""`mash doctor` looks after the working memory that the settings name."""

import json
import os
import subprocess
import sys


def doctor(tmp_path, table="", *more):
    home = tmp_path / "mash"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text(table)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MASH_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "mash_plugin", "doctor", "--category", "throughline", *more],
        capture_output=True,
        text=True,
        env=environment,
    )


def test_without_the_table_there_is_nothing_to_look_at(tmp_path):
    done = doctor(tmp_path)
    assert done.returncode == 0, done
    assert "names no agent and workspace" in done.stdout


def test_with_it_the_settings_the_queue_and_the_store_are_told(tmp_path):
    table = f'[throughline]\nagent = "crew"\nworkspace = "{tmp_path}/mm"\nworking_compile = true\n'
    done = doctor(tmp_path, table)
    assert done.returncode == 0, done
    assert "MM_WORKING_COMPILE = on" in done.stdout
    assert "nothing is queued for crew" in done.stdout
    assert "the store comes with the first drain" in done.stdout


def test_a_setting_without_meaning_is_an_error(tmp_path):
    table = '[throughline]\nagent = "crew"\nworkspace = "/w"\nworking_ttl_hours = "x"\n'
    done = doctor(tmp_path, table, "--json")
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)["findings"]
    assert (found["name"], found["severity"]) == ("throughline-settings", "error")
    assert "working_ttl_hours in " in found["what"]


def test_keys_and_kinds_without_meaning_are_told(tmp_path):
    table = f'[throughline]\nagent = "crew"\nworkspace = "{tmp_path}/mm"\n'
    done = doctor(tmp_path, f"{table}workng_compile = true\nworking_promote = 3\n")
    told = " ".join(done.stdout.split())
    assert "[throughline] has no key 'workng_compile'; it does nothing" in told
    assert "[throughline] working_promote = 3 is neither on nor off; it does nothing" in told
