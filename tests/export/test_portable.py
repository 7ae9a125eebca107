"""Files run with torch alone: in a process that cannot import ostinato."""

import json
import pathlib
import subprocess
import sys

from . import portable

ALONE = pathlib.Path(__file__).with_name("alone.py")


def test_every_file_runs_with_torch_alone(tmp_path):
    written = portable.write(tmp_path, ("float4_e2m1fn_x2", "float8_e8m0fnu", "uint64"), ("linear",))
    done = subprocess.run([sys.executable, "-I", str(ALONE), str(tmp_path)], capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert said["wrong"] == {}
    assert said["programs"] == written
    assert done.returncode == 0


def test_the_process_has_no_ostinato(tmp_path):
    code = f"import runpy; runpy.run_path({str(ALONE)!r})['main']({str(tmp_path)!r}); import ostinato"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(done.stdout)["programs"] == 0
    assert "No module named 'ostinato'" in done.stderr
