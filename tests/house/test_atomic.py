import os
import signal
import subprocess
import sys
import textwrap

import pytest

from ostinato._atomic import replacing


def names(folder):
    return sorted(os.listdir(folder))


def test_the_new_file_replaces_the_old_one(tmp_path):
    target = tmp_path / "a.pt2"
    target.write_bytes(b"old")
    with replacing(target) as part:
        part.write_bytes(b"new")
        assert part.parent == tmp_path
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["a.pt2"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_part(tmp_path, error):
    target = tmp_path / "a.pt2"
    target.write_bytes(b"old")

    def half():
        with replacing(target) as part:
            part.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        half()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.pt2"]


def test_a_writer_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "a.pt2"):
        pass
    assert names(tmp_path) == []


def test_a_killed_process_leaves_the_old_file_and_the_next_run_cleans_up(tmp_path):
    target = tmp_path / "a.pt2"
    target.write_bytes(b"old")
    program = textwrap.dedent(f"""
        import time
        from ostinato._atomic import replacing
        with replacing({str(target)!r}) as part:
            part.write_bytes(b"half")
            print("ready", flush=True)
            time.sleep(60)
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert target.read_bytes() == b"old"
    assert len(names(tmp_path)) == 2
    with replacing(target) as part:
        part.write_bytes(b"new")
    assert names(tmp_path) == ["a.pt2"]
    assert target.read_bytes() == b"new"


def test_part_files_of_living_processes_and_of_other_targets_stay(tmp_path):
    living = tmp_path / f".a.pt2.{os.getpid()}-99.part"
    other = tmp_path / ".b.pt2.4194305-0.part"
    for each in (living, other):
        each.write_bytes(b"")
    with replacing(tmp_path / "a.pt2") as part:
        part.write_bytes(b"new")
    assert living.exists()
    assert other.exists()


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.pt2").write_bytes(b"old")
    (tmp_path / "link.pt2").symlink_to("real.pt2")
    with replacing(tmp_path / "link.pt2") as part:
        part.write_bytes(b"new")
    assert (tmp_path / "link.pt2").is_symlink()
    assert (tmp_path / "real.pt2").read_bytes() == b"new"
