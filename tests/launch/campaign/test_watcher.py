"""After a kill of a campaign, all processes of its commands end."""

import os
import signal
import subprocess
import sys
import time

import yaml

from launch.campaign import watcher


def test_after_a_kill_of_the_campaign_the_processes_of_its_commands_end_too(tmp_path):
    """The command begins another process in its group, which nobody would end; as `launch.campaign.processes` does."""
    child = "child = subprocess.Popen(['sleep', '60'])"
    starts = f"import subprocess, sys; {child}; open(sys.argv[1], 'w').write(str(child.pid)); child.wait()"
    line = {"name": "one", "question": "?", "minutes": 0.8, "from": "a limit", "leaves": "nothing"}
    line["commands"] = [f'{{python}} -c "{starts}" {tmp_path}/pid']
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump([line]))
    words = ["--plan", str(tmp_path / "plan.yaml"), "--folder", str(tmp_path / "campaign"), "--device", "cpu"]
    begun = [sys.executable, "-m", "launch.campaign", *words, "--minutes", "1"]
    first, until = subprocess.Popen(begun, stdout=subprocess.DEVNULL), time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)
    child = int((tmp_path / "pid").read_text())
    assert os.path.exists(f"/proc/{child}")
    first.kill()
    first.wait()
    until = time.monotonic() + 15
    while is_running(child):
        assert time.monotonic() < until, "it has ended, long before the kill after 25 seconds"
        time.sleep(0.05)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_watcher_ends_groups_that_were_not_removed_and_kills_the_deaf():
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    words = [sys.executable, "-c", deaf]
    with (
        subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE) as spared,
    ):
        try:
            for each in (killed, spared):
                each.stdout.readline()
            lines = [f"+{killed.pid}", f"+{spared.pid}", f"-{spared.pid}"]
            assert watcher.left(lines) == ({killed.pid}, "")
            watcher.end(watcher.left(lines)[0], seconds=0.3)
            assert killed.wait(10) == -signal.SIGKILL
            assert spared.poll() is None
        finally:
            killed.kill()
            spared.kill()
